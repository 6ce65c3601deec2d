// All servers at a glance, and the head of one server.
import {chart, chartRow, kRateLines, kStateLines, rangeChoice} from './chart.js';
import {el, numberStrip, replace, setText, troubleLine} from './dom.js';
import * as format from './format.js';
import {link} from './view.js';

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
export function serverHead(name, life, isLinked) {
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
    gone.say(isLinked ? goneText(server) : '');  // In a view of one server, the frame of the page
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
