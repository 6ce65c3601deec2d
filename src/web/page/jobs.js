// Jobs: a list of them, the next ones of a tube, and one by itself.
import {ask} from './api.js';
import {actionBar} from './actions.js';
import {bodyView, decode, jobName} from './body.js';
import {button, el, numberStrip, replace, setHidden, setText} from './dom.js';
import * as format from './format.js';
import {link} from './view.js';

export function jobLink(server, job) {
  return el('a', {href: link('job', {server, id: job.id, tube: job.tube})}, `#${job.id}`);
}

// A plain table: such lists have at most a thousand rows. `extra`: [label, class, (job) => text].
export function jobTable(label, extra = []) {
  const heads = ['Job', ...extra.map(([name]) => name), 'State', 'Priority', 'Age', 'Left', 'TTR', 'Tries', 'Bytes'];
  const kinds = ['id', ...extra.map(([, kind]) => kind), 'state', 'number', 'number', 'number', 'number', 'number', 'number'];
  const body = el('tbody');
  const table = el('table', {class: 'jobs'}, el('caption', {class: 'unseen'}, label),
    el('thead', {}, el('tr', {}, heads.map((head, i) => el('th', {scope: 'col', class: kinds[i]}, head)))), body);
  const element = el('div', {class: 'scrolls', tabindex: '0', role: 'region', 'aria-label': label}, table);
  const row = (server, job) => el('tr', {}, el('th', {scope: 'row', class: 'id'}, jobLink(server, job)),
    extra.map(([, kind, text]) => el('td', {class: kind}, text(job))),
    [job.state, format.count(job.priority), format.duration(job.age), timeLeft(job),
      format.duration(job.ttr), format.count(job.reserves), format.count(job.bytes)]
      .map((text, i) => el('td', {class: kinds[i + 1 + extra.length]}, text)));
  return {
    element,
    add: (server, jobs) => body.append(...jobs.map((job) => row(server, job))),
    clear: () => replace(body),
  };
}

function timeLeft(job) {
  return job.time_left > 0 && (job.state === 'delayed' || job.state === 'reserved') ? format.duration(job.time_left) : '–';
}

// The next job of a state, with its body.
export function nextJob(state, server) {
  const place = el('div', {class: 'next-job'});
  const element = el('section', {class: 'card'}, el('h2', {}, `Next ${state} job`), place);
  let shown = '';
  const update = (job) => {
    const now = JSON.stringify([job?.id, job?.body_base64, job?.reserves]);
    if (now === shown) return;  // The forms and what is unfolded stay as they are.
    shown = now;
    if (!job) {
      replace(place, el('p', {class: 'nothing'}, `No job is ${state}.`));
      return;
    }
    const name = jobName(decode(job.body_base64));
    replace(place, el('p', {class: 'job-line'}, jobLink(server, job), name ? el('b', {}, name) : null,
      el('span', {class: 'about'}, `priority ${format.count(job.priority)} · ${format.duration(job.age)} old · ` +
        `${format.plural(job.reserves ?? 0, 'try', 'tries')}`)), bodyView(job));
  };
  return {element, update};
}

const kStates = ['ready', 'delayed', 'buried'];
const kCounts = [100, 1000];

// The list of a tube's jobs, by state. It is asked for once, and anew by its button: a list that
// moves cannot be read.
export function jobList(server, tube, life) {
  const table = jobTable(`Jobs of ${tube}`);
  const note = el('p', {class: 'nothing', role: 'status'});
  let state = kStates[0];
  let ids = [];
  const bar = actionBar.ofJobs(server, () => ids, () => load());
  const choices = kStates.map((one) => button(one, () => {
    state = one;
    load();
  }));
  const more = button('Up to 1,000', () => load(kCounts[1]));
  const load = async (count = kCounts[0]) => {
    choices.forEach((one) => one.setAttribute('aria-pressed', String(one.textContent === state)));
    try {
      const {jobs} = await ask('jobs', {server, tube, state, count}, life.signal);
      table.clear();
      table.add(server, jobs);
      ids = jobs.map((job) => job.id);
      setText(note, jobs.length === 0 ? `No job is ${state}.` : `The first ${format.plural(jobs.length, 'job')}, in the order in which they will leave.`);
      more.hidden = jobs.length < count || count === kCounts[1];
    } catch (error) {
      if (error.name === 'AbortError') return;
      table.clear();
      ids = [];
      setText(note, error.status === 501 ? 'This server has no list of jobs: a beanstalkd shows the next job of each state only. The search finds others.' : error.message);
      more.hidden = true;
    }
    setHidden(table.element, ids.length === 0);
    setHidden(bar.holder, ids.length === 0);
  };
  bar.holder = el('span', {class: 'tools', hidden: true}, el('span', {class: 'about'}, 'All that are listed:'), bar.element);
  setHidden(table.element, true);
  more.hidden = true;
  const begin = button('List the jobs', () => {
    begin.remove();
    setHidden(list, false);
    load();
  });
  const list = el('div', {hidden: true}, el('div', {class: 'tools'}, el('div', {class: 'choices', role: 'group', 'aria-label': 'State'}, choices),
    button('Refresh', () => load()), more, bar.holder), note, table.element);
  const element = el('section', {class: 'card'}, el('h2', {}, 'Jobs'), begin, list);
  const allow = (isAllowed, now) => {
    bar.allow(isAllowed, now);
    bar.holder.classList.toggle('none', !isAllowed);
  };
  return {element, allow};
}

const kJobFields = [
  ['state', 'state'], ['priority', 'priority'], ['age', 'age'], ['delay', 'delay'], ['ttr', 'time to run'], ['time_left', 'time left'],
  ['reserves', 'reserves'], ['timeouts', 'timeouts'], ['releases', 'releases'], ['buries', 'buries'], ['kicks', 'kicks'], ['bytes', 'bytes'],
];
const kDurations = new Set(['age', 'delay', 'ttr', 'time_left']);

export function jobView({server, id, tube}, life) {
  const strip = numberStrip(kJobFields);
  const name = el('p', {class: 'summary'});
  const trouble = el('p', {class: 'gone', hidden: true});
  const place = el('div', {class: 'card'});
  const tags = el('dl', {class: 'pairs'});
  const tagCard = el('section', {class: 'card', hidden: true}, el('h2', {}, 'Tags'), tags);
  const load = async () => {
    try {
      const job = await ask('job', {server, id}, life.signal);
      setHidden(strip.element, false);
      setHidden(place, false);
      const title = jobName(decode(job.body_base64));
      setText(name, [title, `in tube ${job.tube}`].filter(Boolean).join(' · '));
      strip.set(Object.fromEntries(kJobFields.map(([key]) => [key,
        typeof job[key] === 'string' ? job[key] : kDurations.has(key) ? format.duration(job[key]) : format.count(job[key])])));
      replace(tags, Object.entries(job.tags ?? {}).map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, String(value)))));
      setHidden(tagCard, !tags.hasChildNodes());
      replace(place, el('h2', {}, 'Body'), bodyView(job));
      setHidden(trouble, true);
    } catch (error) {
      if (error.name === 'AbortError') return;
      setText(trouble, error.status === 404 ? `Job ${id} is gone: somebody has deleted it, or it never was there.` : error.message);
      [strip.element, place, tagCard].forEach((one) => setHidden(one, true));
      setHidden(trouble, false);
    }
  };
  load();
  const bar = actionBar.ofJobs(server, () => [Number(id)], load);
  const element = el('div', {}, el('div', {class: 'title'}, el('h1', {}, `Job ${id}`), name, el('span', {class: 'gap'}), bar.element, button('Refresh', load)),
    trouble, strip.element, tagCard, place);
  const update = (data) => bar.allow(data.allow_changes, data.servers.find((one) => one.name === server));
  const path = tube ? [[tube, link('tube', {server, tube})]] : [];
  return {element, update, title: `Job ${id}`, crumbs: [[server, link('server', {server})], ...path, [`job ${id}`, link('job', {server, id, tube})]]};
}

