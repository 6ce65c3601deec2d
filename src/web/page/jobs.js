// Jobs: a list, the next ones of a tube, and a single one.
import {ask} from './api.js';
import {actionBar} from './actions.js';
import {bodyView, decode, jobName} from './body.js';
import {clientLink} from './clients.js';
import {button, el, isBeingRead, numberStrip, pairs, replace, setHidden, setText, troubleLine} from './dom.js';
import * as format from './format.js';
import {link} from './view.js';

export function jobLink(server, job) {
  return el('a', {href: link('job', {server, id: job.id, tube: job.tube})}, `#${job.id}`);
}

// A plain table, because such lists have at most a thousand rows. `extra` is a list of [label,
// class, (job) => text].
export function jobTable(server, label, extra = []) {
  const number = (name, form, key) => [name, 'number', (job) => form(job[key])];
  const columns = [['Job', 'id', (job) => jobLink(server, job)], ...extra, ['State', 'state', (job) => [stateOf(server, job), noteOf(job)].flat()],
    number('Priority', format.count, 'priority'), number('Age', format.duration, 'age'), number('Left', (left) => (left > 0 ? format.duration(left) : '–'), 'time_left'),
    number('TTR', format.duration, 'ttr'), number('Tries', format.count, 'reserves'), number('Bytes', format.count, 'bytes')];
  const body = el('tbody');
  const table = el('table', {class: 'jobs'}, el('caption', {class: 'unseen'}, label),
    el('thead', {}, el('tr', {}, columns.map(([name, kind]) => el('th', {scope: 'col', class: kind}, name)))), body);
  const element = el('div', {class: 'scrolls', hidden: true, tabindex: '0', role: 'region', 'aria-label': label}, table);
  const row = (job) => el('tr', {}, columns.map(([, kind, text], i) => el(i > 0 ? 'td' : 'th', {scope: i > 0 ? null : 'row', class: kind}, text(job))));
  return {
    element,
    // Replaces the rows, or appends with `isMore`.
    show: (jobs, isMore = false) => {
      if (!isMore) replace(body);
      body.append(...jobs.map(row));
      setHidden(element, !body.hasChildNodes());
    },
  };
}

// Returns the first line of the note, or nothing.
function noteOf(job) {
  return job.note ? el('span', {class: 'note', title: job.note}, job.note) : null;
}

function stateOf(server, job) {
  const since = Number.isFinite(job.reserved_for) ? ` for ${format.duration(job.reserved_for)}` : '';
  if (job.holder) return ['reserved by ', clientLink(server, job.holder), since];
  if (job.buried_by) return `buried by ${job.buried_by}${job.last_try ? ` (${job.last_try})` : ''}`;
  return job.is_held ? 'delayed, held' : job.state;
}

// The next job of a state, with its body. It stays while it is being read, and a line reports that
// another job has taken its place.
export function nextJob(state, server) {
  const place = el('div', {class: 'next-job'});
  const about = el('span', {class: 'about'});
  const words = el('span');
  const held = el('p', {class: 'held', hidden: true}, words, button('Show the next job', () => {
    getSelection().removeAllRanges();
    show();
  }));
  const element = el('section', {class: 'card'}, el('h2', {}, `Next ${state} job`), held, place);
  const keyOf = (job) => JSON.stringify([job?.id, job?.body_base64]);
  let shown = '';
  let next = null;
  const show = () => {
    shown = keyOf(next);
    setHidden(held, true);
    const name = next && jobName(decode(next.body_base64));
    replace(place, next ? [el('p', {class: 'job-line'}, jobLink(server, next), name ? el('b', {}, name) : null, about), bodyView(next)]
      : el('p', {class: 'nothing'}, `No ${state} jobs.`));
    describe();
  };
  const describe = () => {
    if (next) setText(about, `priority ${format.count(next.priority)} · ${format.duration(next.age)} old · ${format.plural(next.reserves ?? 0, 'try', 'tries')}`);
  };
  const update = (job) => {
    next = job;
    const isShown = keyOf(job) === shown;
    if (isShown) describe();
    else if (!isBeingRead(place)) return show();
    setText(words, `Kept while you read it: ${job ? 'another job is' : 'no job is'} ${state} now.`);
    setHidden(held, isShown);
    return undefined;
  };
  return {element, update};
}

const kCounts = [100, 1000];

// The list of a tube's jobs, by state. It is loaded once, and again by its button, because a list
// that keeps changing cannot be read.
export function jobList(server, tube, life) {
  const table = jobTable(server, `Jobs of ${tube}`);
  const note = el('p', {class: 'nothing', role: 'status'});
  let state = format.kWaiting[0];
  let ids = [];
  const bar = actionBar.ofJobs(server, () => ids, () => load());
  const choices = format.kWaiting.map((one) => button(one, () => {
    state = one;
    load();
  }));
  const more = button('Up to 1,000', () => load(kCounts[1]));
  const load = async (count = kCounts[0]) => {
    choices.forEach((one) => one.setAttribute('aria-pressed', String(one.textContent === state)));
    try {
      const {jobs} = await ask('jobs', {server, tube, state, count}, life.signal);
      table.show(jobs);
      ids = jobs.map((job) => job.id);
      setText(note, jobs.length === 0 ? `No ${state} jobs.` : `The first ${format.plural(jobs.length, 'job')} in the order of service.`);
      more.hidden = jobs.length < count || count === kCounts[1];
    } catch (error) {
      if (error.name === 'AbortError') return;
      table.show([]);
      ids = [];
      setText(note, error.status === 501 ? 'beanstalkd cannot list jobs, and shows only the next job of each state. Use the search to find others.' : error.message);
      more.hidden = true;
    }
    setHidden(holder, ids.length === 0);
  };
  const holder = el('span', {class: 'tools', hidden: true}, el('span', {class: 'about'}, 'All listed jobs:'), bar.element);
  more.hidden = true;
  const begin = button('List jobs', () => {
    begin.remove();
    setHidden(list, false);
    load();
  });
  const list = el('div', {hidden: true}, el('div', {class: 'tools'}, el('div', {class: 'choices', role: 'group', 'aria-label': 'State'}, choices),
    button('Refresh', () => load()), more, holder), note, table.element);
  const element = el('section', {class: 'card'}, el('h2', {}, 'Jobs'), begin, list);
  return {element, allow: bar.allow};
}

const kJobFields = [
  ['state', 'state'], ['priority', 'priority'], ['age', 'age'], ['delay', 'delay'], ['ttr', 'time to run'], ['time_left', 'time left'],
  ['reserves', 'reserves'], ['timeouts', 'timeouts'], ['releases', 'releases'], ['buries', 'buries'], ['kicks', 'kicks'], ['bytes', 'bytes'],
];
const kDurations = new Set(['age', 'delay', 'ttr', 'time_left']);

// Returns the number of jobs in the group of a job, and in the group that it waits for.
async function groupsOf(server, {tags, is_held: isHeld}, signal) {
  const lines = {};
  for (const group of [tags?.grp, isHeld ? tags?.aft : null]) {
    const now = group ? await ask('group', {server, group}, signal).catch(() => null) : null;
    const states = format.kStates.filter((state) => now?.[state]).map((state) => `${format.count(now[state])} ${state}`);
    if (now) lines[`jobs of ${group}`] = `${states.join(', ')} · ${format.count(now.waiting_jobs)} held until it ends`;
  }
  return lines;
}

export function jobView({server, id, tube}, life) {
  const strip = numberStrip(kJobFields);
  const name = el('p', {class: 'summary'});
  const trouble = troubleLine();
  let ended = '';  // Set by an action on this page.
  const place = el('div', {class: 'card'});
  const tags = el('dl', {class: 'pairs'});
  const tagCard = el('section', {class: 'card', hidden: true}, el('h2', {}, 'Tags'), tags);
  const load = async () => {
    try {
      const job = await ask('job', {server, id}, life.signal);
      setHidden(strip.element, false);
      setHidden(place, false);
      const title = jobName(decode(job.body_base64));
      replace(name, title ? `${title} · ` : '', `in tube ${job.tube} · `, stateOf(server, job),
        Number.isFinite(job.buried_ago) ? ` ${format.duration(job.buried_ago)} ago` : '', noteOf(job));
      strip.set(Object.fromEntries(kJobFields.map(([key]) => [key,
        typeof job[key] === 'string' ? job[key] : kDurations.has(key) ? format.duration(job[key]) : format.count(job[key])])));
      replace(tags, pairs({...job.tags, ...await groupsOf(server, job, life.signal)}));
      setHidden(tagCard, !tags.hasChildNodes());
      replace(place, el('h2', {}, 'Body'), bodyView(job));
      trouble.set();
      bar.setThere(true);
      ended = '';
    } catch (error) {
      if (error.name === 'AbortError') return;
      const isGone = error.status === 404;
      trouble.set(isGone ? `Job ${id} ${ended || 'does not exist: it was deleted, or never put.'}` : error.message);
      if (!isGone) return;  // Keep the last known state.
      replace(name);
      bar.setThere(false);
      [strip.element, place, tagCard].forEach((one) => setHidden(one, true));
    }
  };
  const bar = actionBar.ofJobs(server, () => [Number(id)], (order) => {
    const then = format.clock(new Date());
    if (order.action === 'delete') ended = `was deleted from this page at ${then}.`;
    if (order.action === 'move') ended = `was moved to ${order.to} at ${then}, with a new id.`;
    load();
  });
  load();
  const element = el('div', {}, el('div', {class: 'title'}, el('h1', {}, `Job ${id}`), name, el('span', {class: 'gap'}), bar.element, button('Refresh', load)),
    trouble.element, strip.element, tagCard, place);
  const update = (data, mine) => bar.allow(data.allow_changes, mine);
  const path = tube ? [[tube, link('tube', {server, tube})]] : [];
  return {element, update, title: `Job ${id}`, crumbs: [...path, [`job ${id}`, link('job', {server, id, tube})]]};
}

