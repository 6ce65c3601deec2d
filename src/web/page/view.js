// What all views share: addresses within the page, and what a view does again and again until it
// is left.
import {Refusal} from './api.js';

// The address of a view: link('tube', {server, tube}) is '#/tube?server=...&tube=...'.
export function link(name, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const query = new URLSearchParams(given).toString();
  return `#/${name}${query ? `?${query}` : ''}`;
}

// {name, parameters} of the address that the browser shows.
export function readLink() {
  const [name, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return {name, parameters: Object.fromEntries(new URLSearchParams(query ?? ''))};
}

// Keeps a setting of the view in its address, without a step in the browser's history.
export function keepInLink(changes) {
  const {name, parameters} = readLink();
  history.replaceState(null, '', link(name, {...parameters, ...changes}));
}

// The life of a view: its signal ends what it has asked, and its tasks end with it.
export class Life {
  constructor() {
    this.controller = new AbortController();
    this.signal = this.controller.signal;
  }

  end() {
    this.controller.abort();
  }

  // Runs `task` now, and again so many milliseconds after it has ended. Nobody looks at a hidden
  // page, so it waits. `onTrouble` gets a Refusal, and null when it works again. Returns what runs
  // the task at once.
  every(milliseconds, task, onTrouble = () => {}) {
    let timer = 0;
    const run = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        try {
          await task();
          onTrouble(null);
        } catch (error) {
          if (error.name === 'AbortError') return;
          if (!(error instanceof Refusal)) throw error;
          onTrouble(error);
        }
      }
      if (!this.signal.aborted) timer = setTimeout(run, milliseconds);
    };
    this.signal.addEventListener('abort', () => clearTimeout(timer));
    run();
    return run;
  }
}
