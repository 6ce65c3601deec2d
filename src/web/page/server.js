// One server: its head, and the table of its tubes.
import {ask} from './api.js';
import {actionBar} from './actions.js';
import {spark} from './chart.js';
import {el, field, setHidden, setText, troubleLine} from './dom.js';
import * as format from './format.js';
import {serverHead} from './servers.js';
import {BigTable} from './table.js';
import {keepInLink, link} from './view.js';

const kWindow = 100;  // Rows requested at once.
const kRefreshEvery = 2000;  // Milliseconds.

const columnsOf = (server) => [
  {key: 'name', label: 'Tube', kind: 'name', rises: true, href: ({name}) => link('tube', {server, tube: name})},
  ...format.kStates.map((state) => ({key: state, label: state[0].toUpperCase() + state.slice(1), kind: `number ${state}`, text: format.shortCount})),
  {key: 'put_rate', label: 'In /s', kind: 'number in', text: format.rate},
  {key: 'delete_rate', label: 'Out /s', kind: 'number out', text: format.rate},
  {key: 'spark', label: 'Last minutes', kind: 'drawing'},
  {key: 'waiting', label: 'Waiting', kind: 'number wide', text: format.shortCount},
  {key: 'oldest', label: 'Oldest', kind: 'number wide', text: (_, row) => (row.ready > 0 ? format.duration(row.oldest_ready_seconds) : '–')},
];

function dress(cells) {
  cells[0].append(el('span', {class: 'mark warn', hidden: true}), el('span', {class: 'mark bad', hidden: true}, 'growing'));
}

function fillRow(cells, row, element) {
  const [name, paused, growing] = cells[0].children;
  name.title = row?.name ?? '';
  const isPaused = (row?.paused_seconds ?? 0) > 0;
  setHidden(paused, !isPaused);
  if (isPaused) setText(paused, `paused ${format.roughly(row.paused_seconds)}`);
  // The backlog of a paused tube grows anyway, and its name needs the room.
  setHidden(growing, !row?.is_growing || isPaused);
  element.classList.toggle('is-paused', isPaused);
  element.classList.toggle('is-growing', Boolean(row?.is_growing));
  drawSpark(cells[7], row);
}

// Draws the spark line if its numbers have changed.
function drawSpark(cell, row) {
  if (cell.drawn === row?.spark_in) return;
  cell.drawn = row?.spark_in;
  const drawing = spark();
  drawing.update(row?.spark_in, row?.spark_out);
  cell.replaceChildren(drawing.element);
}

export function serverView(parameters, life) {
  const {server} = parameters;
  const query = {sort: parameters.sort ?? 'ready', reverse: parameters.reverse ?? '0', filter: parameters.filter ?? ''};
  const head = serverHead(server, life, false);
  const found = el('span', {class: 'found'});
  const status = el('span', {class: 'unseen', role: 'status'});  // Announced to screen readers once
                                                                 // for each filter.
  const trouble = troubleLine();
  const filter = field({type: 'search', id: 'filter', placeholder: 'Filter tubes  ( / )', 'aria-label': 'Filter tubes by name', 'aria-keyshortcuts': '/'});
  filter.value = query.filter;
  let wanted = [0, kWindow];
  let asked = null;
  let refresh = () => {};
  let said = query.filter;

  const table = new BigTable({
    label: `Tubes of ${server}`, columns: columnsOf(server), query, dress, fillRow,
    onSort: () => changed(),
    onRange: (first, last) => {
      wanted = [Math.max(0, Math.floor((first + last - kWindow) / 2)), kWindow];
      let isMissing = false;
      for (let index = first; index < last; index += 1) isMissing ||= !table.rows.has(index);
      // The requested rows are being loaded, or come with the next refresh.
      if (isMissing && !(asked && asked[0] <= first && asked[0] + asked[1] >= last)) refresh();
    },
  }, life);

  let asking = null;
  const refreshNow = async () => {
    const [from, count] = wanted;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    asked = wanted;
    const stop = AbortSignal.any([mine.signal, life.signal]);
    try {
      const answer = await ask('tubes', {server, ...query, from, count}, stop);
      if (stop.aborted) return;
      setText(found, query.filter ? `${format.count(answer.matching)} of ${format.plural(answer.total, 'tube')}` : format.plural(answer.total, 'tube'));
      if (said !== query.filter) setText(status, found.textContent);
      said = query.filter;
      table.setRows(answer.from, answer.tubes);
      table.setTotal(answer.matching);
      act.update({matching: answer.matching, filter: query.filter});
    } catch (error) {
      // A newer request has aborted this one; the view continues.
      if (error.name !== 'AbortError' || life.signal.aborted) throw error;
    } finally {
      if (asking === mine) asking = null;
    }
  };
  const act = actionBar.ofTubes(server, query, () => refresh());

  const changed = () => {
    keepInLink(query);
    table.forget();
    asked = null;
    table.top();
    refresh();
  };
  filter.addEventListener('input', () => {
    query.filter = filter.value;
    changed();
  });
  filter.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown') return;
    event.preventDefault();
    table.focusRow(0);
  });
  const clients = el('a', {class: 'button', hidden: true, href: link('clients', {server})}, 'Clients');
  const element = el('div', {}, el('h1', {class: 'unseen'}, `Server ${server}`), head.element,
    el('div', {class: 'tools'}, filter, found, status, el('span', {class: 'gap'}), act.element,
       clients, el('a', {class: 'button', href: link('search', {server})}, 'Search jobs')),
    trouble.element, table.element);
  refresh = life.every(kRefreshEvery, refreshNow, (error) => trouble.say(error ? `Cannot list the tubes: ${error.message}` : ''));
  const update = (data, mine) => {
    setHidden(clients, !mine?.capabilities.includes('list-clients'));
    if (mine) head.update(mine);
    act.allow(data.allow_changes, mine);
  };
  return {element, update, title: server, crumbs: [], focusFilter: () => filter.focus()};
}
