// The search over all jobs of a server or a tube, which shows hits as they arrive. Each request
// covers a bounded piece of the jobs; stopping means sending no further request.
import {ask} from './api.js';
import {actionBar} from './actions.js';
import {hitExcerpt} from './body.js';
import {button, el, field, setHidden, setText} from './dom.js';
import * as format from './format.js';
import {jobTable} from './jobs.js';
import {keepInLink, link} from './view.js';

const kHitsMax = 1000;  // Hits after which the search pauses.

export function searchBox({server, tube, contains, state, id}, life, isView) {
  const words = field({type: 'search', name: 'contains', 'aria-label': 'Text in the body', placeholder: 'Text in the body'});
  const number = field({inputmode: 'numeric', name: 'id', pattern: '[0-9]*', size: '10', 'aria-label': 'Job id', placeholder: 'or an id'});
  const states = el('select', {name: 'state', 'aria-label': 'State'}, ['', ...format.kStates].map((one) => el('option', {value: one}, one || 'any state')));
  words.value = contains ?? '';
  number.value = id ?? '';
  states.value = state ?? '';
  const where = isView ? field({name: 'tube', 'aria-label': 'Tube', placeholder: 'any tube'}) : null;
  if (where) where.value = tube ?? '';
  const note = el('p', {class: 'found'});
  const status = el('p', {class: 'unseen', role: 'status'});  // Announced to screen readers only at
                                                              // the end.
  const table = jobTable(server, 'Jobs found', [['Tube', 'tube', (job) => job.tube], ['Body', 'excerpt', hitExcerpt]]);
  let hits = [];
  let run = null;
  const stop = button('Stop', () => run?.abort());
  const more = button('Continue', () => requestPieces());
  const bar = actionBar.ofJobs(server, () => hits, () => search());
  const holder = el('span', {class: 'tools', hidden: true}, el('span', {class: 'about'}, 'All hits:'), bar.element);
  let cursor = null;
  let scanned = 0;

  const showProgress = (end) => setText(note, `${format.plural(hits.length, 'hit')} in ${format.plural(scanned, 'job')}${end}`);
  const showEnd = (end) => {
    showProgress(end);
    setText(status, note.textContent);
  };
  const parameters = () => ({server, tube: where ? where.value : tube, state: states.value, contains: words.value, id: number.value});
  // Leaves out empty fields.
  const given = () => Object.fromEntries(Object.entries(parameters()).filter(([, value]) => value));

  // Requests piece after piece until the end, a stop, or enough hits.
  const requestPieces = async () => {
    run?.abort();
    const mine = new AbortController();
    run = mine;
    const signal = AbortSignal.any([mine.signal, life.signal]);
    const room = hits.length + kHitsMax;
    setHidden(stop, false);
    setHidden(more, true);
    try {
      for (;;) {
        const answer = await ask('search', {...given(), after: cursor}, signal);
        scanned += answer.looked_at;
        cursor = answer.next;
        hits.push(...answer.hits.map((job) => job.id));
        table.show(answer.hits, true);
        setHidden(holder, hits.length === 0);
        if (answer.done || cursor === null) return showEnd(': complete');
        if (hits.length >= room) return pausedAt(': there may be more');
        showProgress(' so far');
      }
    } catch (error) {
      if (error.name !== 'AbortError') {
        setText(note, error.message);
        setHidden(more, false);
      } else if (run === mine && !life.signal.aborted) pausedAt(': stopped');
    } finally {
      if (run === mine) setHidden(stop, true);
    }
  };
  const pausedAt = (text) => {
    showEnd(text);
    setHidden(more, false);
  };
  const search = () => {
    hits = [];
    cursor = null;
    scanned = 0;
    table.show([]);
    setHidden(holder, true);
    if (isView) keepInLink({tube: '', contains: '', state: '', id: '', ...given()});
    if (words.value === '' && number.value === '') {
      run?.abort();
      setText(note, 'Enter a text or an id.');
      return;
    }
    requestPieces();
  };
  const form = el('form', {class: 'tools search', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    search();
  }}, words, number, where, states, el('button', {type: 'submit', class: 'main'}, 'Search'), stop, more);
  [stop, more].forEach((one) => setHidden(one, true));
  if (isView && (contains || id)) search();
  return {element: el('div', {class: isView ? 'card' : null}, form, note, status, holder, table.element), allow: bar.allow, focus: () => words.focus()};
}

export function searchView(parameters, life) {
  const {server} = parameters;
  const box = searchBox(parameters, life, true);
  const element = el('div', {}, el('div', {class: 'title'}, el('h1', {}, 'Search jobs'), el('p', {class: 'summary'}, `All jobs of ${server}`)), box.element);
  const update = (data, mine) => box.allow(data.allow_changes, mine);
  return {element, update, title: 'Search', crumbs: [['search', link('search', {server})]], focusFilter: box.focus};
}
