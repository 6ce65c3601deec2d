// One tube: numbers, charts, its next jobs with their bodies, the list of its jobs, and a search.
import {ask} from './api.js';
import {actionBar} from './actions.js';
import {chart, chartRow, kRateLines, kStateLines, rangeChoice} from './chart.js';
import {el, isBeingRead, numberStrip, pairs, replace, setHidden, troubleLine} from './dom.js';
import * as format from './format.js';
import {jobList, nextJob} from './jobs.js';
import {searchBox} from './search.js';
import {link} from './view.js';

const kRefreshEvery = 2000;

const kTimeLines = [
  {key: 'wait_p50_ms', label: 'median', kind: 'out'},
  {key: 'wait_p99_ms', label: '99th percentile', kind: 'buried'},
];

const kNoPoints = 'Only the 100 busiest tubes have a history, with one point every 15 seconds.';
const kNoPointsOfOthers = 'Tubes of beanstalkd are sampled only while a page shows them: one point every 15 seconds from now on, for the 100 busiest tubes.';

const kFields = [
  ['put_rate', 'in /s', 'in lead'], ['delete_rate', 'out /s', 'out lead'],
  ...format.kStates.map((state) => [state, state, state]),
  ['waiting', 'waiting'], ['watching', 'watching'], ['using', 'using'], ['oldest', 'oldest ready'],
  ['puts', 'puts, all'], ['deletes', 'deletes, all'],
];

function textsOf(tube) {
  return {
    ...format.texts(format.shortCount, tube, [...format.kStates, 'waiting', 'watching', 'using', 'puts', 'deletes']),
    ...format.texts(format.rate, tube, ['put_rate', 'delete_rate']),
    oldest: tube.ready > 0 ? format.roughly(tube.oldest_ready_seconds) : '–',
  };
}

export function tubeView({server, tube}, life) {
  const strip = numberStrip(kFields);
  const marks = el('span', {class: 'marks'});
  const trouble = troubleLine();
  const times = chart('Time in the queue', kTimeLines, format.milliseconds);
  const charts = chartRow({server, tube}, life, [chart('Jobs per second', kRateLines, format.rate), chart('Jobs by state', kStateLines, format.shortCount), times],
    (history) => setHidden(times.element, !history.wait_p50_ms));
  const next = format.kWaiting.map((state) => nextJob(state, server));
  const stats = el('dl', {class: 'pairs'});
  const search = searchBox({server, tube}, life, false);
  const list = jobList(server, tube, life);
  const bar = actionBar.ofTube(server, tube, () => reload());
  const load = async () => {
    const now = await ask('tube', {server, tube}, life.signal);
    strip.set(textsOf(now));
    strip.list.classList.toggle('has-buried', now.buried > 0);
    const words = [];
    if (now.paused_seconds > 0) words.push(`paused for ${format.duration(now.paused_seconds)}`);
    bar.setPaused(now.paused_seconds > 0);
    if (now.is_growing) words.push('growing');
    if (marks.textContent !== words.join('')) {
      replace(marks, words.map((word) => el('span', {class: `mark ${word === 'growing' ? 'bad' : 'warn'}`}, word)));
    }
    next.forEach((one, i) => one.update(now.next?.[format.kWaiting[i]] ?? null));
    // Update it only while it is visible.
    if (details.open && !isBeingRead(stats)) replace(stats, pairs({...now.stats, ...now.detail}));
  };
  const showTrouble = (error) => {
    const isAbsent = error?.status === 404;
    trouble.set(isAbsent ? `There is no tube ${tube} now. A tube exists while it has jobs or clients.` : error?.message);
    element.classList.toggle('is-absent', isAbsent);
    if (isAbsent) next.forEach((one) => one.update(null));
  };
  const details = el('details', {class: 'card', ontoggle: () => reload()}, el('summary', {}, 'All statistics of this tube'), stats);
  const reload = life.every(kRefreshEvery, load, showTrouble);
  const element = el('div', {}, el('div', {class: 'title'}, el('h1', {}, tube), marks, el('span', {class: 'gap'}), rangeChoice(), bar.element), trouble.element,
    strip.element, charts.element, el('div', {class: 'next'}, next.map((one) => one.element)),
    el('section', {class: 'card'}, el('h2', {}, 'Search in this tube'), search.element), list.element, details);
  const update = (data, mine) => {
    if (mine) charts.explain(mine.is_haricot ? kNoPoints : kNoPointsOfOthers);
    bar.allow(data.allow_changes, mine);
    search.allow(data.allow_changes, mine);
    list.allow(data.allow_changes, mine);
  };
  return {element, update, title: tube, crumbs: [[tube, link('tube', {server, tube})]], focusFilter: search.focus};
}
