// Common parts of all views: addresses within the page, and repeated work that ends with the view.
import {Refusal} from './api.js';

// Returns the address of a view: link('tube', {server, tube}) is '#/tube?server=...&tube=...'.
export function link(name, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const query = new URLSearchParams(given).toString();
  return `#/${name}${query ? `?${query}` : ''}`;
}

// Returns {name, parameters} of the current address.
export function readLink() {
  const [name, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return {name, parameters: Object.fromEntries(new URLSearchParams(query ?? ''))};
}

// Stores a setting of the view in its address, without a step in the browser's history.
export function keepInLink(changes) {
  const {name, parameters} = readLink();
  history.replaceState(null, '', link(name, {...parameters, ...changes}));
}

// The life of a view. Its signal aborts the requests of the view, and its tasks end with it.
export class Life {
  constructor() {
    this.controller = new AbortController();
    this.signal = this.controller.signal;
  }

  end() {
    this.controller.abort();
  }

  // Runs `task` now, and again `milliseconds` after it has ended, unless the page is hidden.
  // `onTrouble` gets a Refusal, and null when the task succeeds. Returns a function that runs the
  // task at once.
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
