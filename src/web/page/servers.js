// All servers at a glance, and one server with its tubes.
import {ask} from './api.js';
import {actionBar} from './actions.js';
import {chart, chartRow, kRateLines, kStateLines, rangeChoice, spark} from './chart.js';
import {el, field, numberStrip, replace, setHidden, setText, troubleLine} from './dom.js';
import * as format from './format.js';
import {BigTable} from './table.js';
import {keepInLink, link} from './view.js';

// Rates come first, because a healthy queue that is always empty must not look dead.
const kFields = [
  ['puts', 'in /s', 'in lead'], ['deletes', 'out /s', 'out lead'], ['reserves', 'reserves /s', 'lead'],
  ['timeouts', 'timeouts /s', 'lead'],
  ...format.kStates.map((state) => [state, state, state]),
  ['waiting', 'waiting'], ['workers', 'workers'], ['producers', 'producers'], ['connections', 'connections'],
  ['tubes', 'tubes'], ['memory', 'memory'], ['binlog', 'binlog'], ['uptime', 'uptime'],
];

function textsOf(server) {
  const {rates = {}, jobs = {}, binlog} = server;
  return {
    ...format.texts(format.rate, rates, ['puts', 'deletes', 'reserves', 'timeouts']),
    ...format.texts(format.shortCount, jobs, format.kStates),
    ...format.texts(format.shortCount, server, ['workers', 'producers', 'connections', 'tubes']),
    waiting: format.shortCount(server.workers_waiting), memory: format.bytes(server.memory_bytes),
    binlog: binlogText(binlog),
    uptime: format.roughly(server.uptime_seconds),
  };
}

function binlogText(binlog) {
  if (!binlog) return '–';
  if (!binlog.is_on) return 'off';
  return [binlog.state, typeof binlog.bytes === 'number' ? format.bytes(binlog.bytes) : null].filter(Boolean).join(', ') || 'on';
}

// Short marks beside the name.
function marksOf(server) {
  const marks = [];
  if (server.state === 'up') marks.push(['up', 'good']);
  if (server.state === 'down') marks.push(['down', 'bad']);
  if (server.state === 'unknown') marks.push(['unknown', '']);
  if (server.paused_tubes > 0) marks.push([`${format.plural(server.paused_tubes, 'tube')} paused`, 'warn']);
  if (server.warning) marks.push([server.warning, 'bad']);
  if (server.is_draining) marks.push(['draining', 'warn']);
  if (server.is_refusing) marks.push(['refusing puts', 'bad']);
  if (['full', 'failing'].includes(server.binlog?.state)) marks.push([`binlog ${server.binlog.state}`, 'bad']);
  if (server.sample_age_seconds > 15) marks.push([`numbers are ${format.duration(server.sample_age_seconds)} old`, 'warn']);
  return marks;
}

// Returns since when and why a server is down; empty unless it is.
export function goneText(server) {
  if (server?.state !== 'down') return '';
  const since = new Date(Date.now() - (server.down_seconds ?? 0) * 1000);
  return `This server has been down for ${format.duration(server.down_seconds)}, since ${format.clock(since)}` +
    `${server.error ? `: ${server.error}` : ''}. Grey values are its last known state.`;
}

// The head of one server: marks, a strip of numbers with the most important first, and two charts.
function serverHead(name, life, isLinked) {
  const heading = el('h2', {}, isLinked ? el('a', {href: link('server', {server: name})}, name) : name);
  const marks = el('span', {class: 'marks'});
  const about = el('span', {class: 'about'});
  const gone = troubleLine();
  const strip = numberStrip(kFields);
  const charts = chartRow({server: name}, life, [chart('Jobs per second', kRateLines, format.rate), chart('Jobs by state', kStateLines, format.shortCount)]);
  charts.explain('One point every 15 seconds.');
  const element = el('section', {class: 'server', 'aria-label': `Server ${name}`},
                     el('header', {}, heading, marks, isLinked ? null : rangeChoice(), about), gone.element, strip.element, charts.element);
  let shownMarks = '';
  const update = (server) => {
    const now = marksOf(server);
    if (JSON.stringify(now) !== shownMarks) {
      shownMarks = JSON.stringify(now);
      replace(marks, now.map(([text, kind]) => el('span', {class: `mark ${kind}`}, text)));
    }
    setText(about, [server.software, server.hostname, server.pid ? `pid ${server.pid}` : null].filter(Boolean).join(' · '));
    gone.set(isLinked ? goneText(server) : '');  // In a view of one server, the frame of the page
                                                 // shows it.
    element.classList.toggle('is-gone', server.state === 'down');
    strip.set(textsOf(server));
    strip.list.classList.toggle('has-buried', (server.jobs?.buried ?? 0) > 0);
    strip.list.classList.toggle('has-timeouts', (server.rates?.timeouts ?? 0) > 0);
  };
  return {element, update};
}

function totals(servers) {
  const up = servers.filter((server) => server.state === 'up');
  const sum = (of) => up.reduce((total, server) => total + (of(server) ?? 0), 0);
  return `${up.length} of ${format.plural(servers.length, 'server')} up · in ${format.rate(sum((s) => s.rates?.puts))}/s · ` +
    `out ${format.rate(sum((s) => s.rates?.deletes))}/s · ${format.shortCount(sum((s) => s.jobs?.ready))} ready · ` +
    `${format.shortCount(sum((s) => s.jobs?.buried))} buried`;
}

export function serversView(parameters, life) {
  const summary = el('p', {class: 'summary'});
  const list = el('div', {class: 'servers'});
  const element = el('div', {}, el('div', {class: 'title'}, el('h1', {}, 'Servers'), summary, el('span', {class: 'gap'}), rangeChoice()), list);
  const heads = new Map();
  const update = ({servers}) => {
    for (const server of servers) {
      if (!heads.has(server.name)) {
        heads.set(server.name, serverHead(server.name, life, true));
        list.append(heads.get(server.name).element);
      }
      heads.get(server.name).update(server);
    }
    list.classList.toggle('is-one', servers.length === 1);
    list.classList.toggle('is-many', servers.length > 8);
    setText(summary, totals(servers));
  };
  return {element, update, title: 'Servers', crumbs: []};
}

// The view of one server: its head, and the table of its tubes.

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

function prepare(cells) {
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
  let announced = query.filter;

  const table = new BigTable({
    label: `Tubes of ${server}`, columns: columnsOf(server), query, prepare, fillRow,
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
      if (announced !== query.filter) setText(status, found.textContent);
      announced = query.filter;
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
  refresh = life.every(kRefreshEvery, refreshNow, (error) => trouble.set(error ? `Cannot list the tubes: ${error.message}` : ''));
  const update = (data, mine) => {
    setHidden(clients, !mine?.capabilities.includes('list-clients'));
    if (mine) head.update(mine);
    act.allow(data.allow_changes, mine);
  };
  return {element, update, title: server, crumbs: [], focusFilter: () => filter.focus()};
}
