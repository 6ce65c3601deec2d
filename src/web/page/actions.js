// Actions that change a server. They are shown only if the program allows changes. Destructive
// actions first ask, with the number of jobs that they affect.
import {act, ask} from './api.js';
import {askFor, button, el, progress, replace, setHidden, toast} from './dom.js';
import * as format from './format.js';

const kIdsMax = 1000;  // In one request.
const kTubesMax = 500;  // In one answer of api/tubes.
const kPauseSeconds = 600;
const kNumberMax = 4294967295;

function numberField(name, label, min, value, max = kNumberMax) {
  return {name, label, type: 'number', min, max, value, required: ''};
}

// Repeats a request until the server has finished; it may do a piece at a time.
async function actFully(order, signal, report) {
  let done = 0;
  for (;;) {
    const answer = await act(order, signal);
    done += answer.done ?? 0;
    if (!answer.goes_on) return {...answer, done};
    report(`${format.plural(done, 'job')} so far`);
  }
}

const kDone = {'kick-job': 'kicked', bury: 'buried', delete: 'deleted', move: 'moved'};
// Reasons why a server leaves a job unchanged.
const kStayed = {'kick-job': 'neither buried nor delayed', bury: 'reserved by a worker', delete: 'reserved by a worker', move: 'reserved by a worker'};

// Acts on any number of jobs.
async function actOnIds(order, ids, signal, report) {
  let done = 0;
  let gone = 0;
  let stayed = 0;
  let message = '';
  for (let at = 0; at < ids.length; at += kIdsMax) {
    const answer = await actFully({...order, ids: ids.slice(at, at + kIdsMax)}, signal, report);
    done += answer.done;
    gone += answer.not_found ?? 0;
    stayed += answer.stayed ?? 0;
    message ||= answer.message ?? '';
    report(`${format.count(Math.min(at + kIdsMax, ids.length))} of ${format.count(ids.length)}`);
  }
  return [`${format.plural(done, 'job')} ${kDone[order.action]}`, stayed > 0 ? `${format.count(stayed)} unchanged (${message || kStayed[order.action]})` : '',
    gone > 0 ? `${format.count(gone)} not found` : ''].filter(Boolean).join(', ');
}

// A bar of buttons. It is hidden unless changes are allowed, the server answers, and the subject of
// the buttons exists. make(server) returns the buttons.
function bar(make) {
  const element = el('div', {class: 'actions', role: 'group', 'aria-label': 'Actions', hidden: true});
  let state = '';
  let isAllowed = false;
  let isThere = true;
  const show = () => setHidden(element, !isAllowed || !isThere);
  const allow = (mayChange, server) => {
    isAllowed = mayChange && server !== undefined && server.state !== 'down';
    const now = `${isAllowed} ${server?.has_reserve_job}`;
    if (now !== state) replace(element, isAllowed ? make(server) : []);
    state = now;
    show();
  };
  const setThere = (isSo) => {
    isThere = isSo;
    show();
  };
  return {element, allow, setThere};
}

async function kick(server, tube, done) {
  const now = await ask('tube', {server, tube});
  const from = now.buried > 0 ? ['buried', now.buried] : ['delayed', now.delayed];
  if (from[1] === 0) {
    toast(`${tube} has no buried or delayed jobs to kick.`);
    return;
  }
  const answers = await askFor({
    title: `Kick jobs of ${tube}`, verb: 'Kick',
    text: `${format.plural(from[1], 'job')} ${from[1] === 1 ? 'is' : 'are'} ${from[0]}. Kicked jobs become ready at once.`,
    fields: [numberField('count', 'How many', 1, from[1], from[1])],
  });
  if (!answers) return;
  const count = Number(answers.count);
  await progress(`Kick ${tube}`, async (signal, report) => {
    const answer = await actFully({action: 'kick', server, tube, count}, signal, report);
    return `${format.plural(answer.done, 'job')} of ${tube} kicked`;
  });
  done();
}

async function pause(server, tubes, done) {
  const what = tubes.length === 1 ? tubes[0] : format.plural(tubes.length, 'tube');
  const answers = await askFor({
    title: `Pause ${what}`, verb: 'Pause', text: 'Workers get no jobs of a paused tube. Producers can still put.',
    fields: [numberField('seconds', 'Seconds', 1, kPauseSeconds)],
  });
  if (answers) await setPause(server, tubes, Number(answers.seconds), done);
}

async function setPause(server, tubes, seconds, done) {
  const verb = seconds > 0 ? 'paused' : 'resumed';
  await progress(seconds > 0 ? 'Pause' : 'Resume', async (signal, report) => {
    let count = 0;
    for (const tube of tubes) {
      await act({action: 'pause', server, tube, seconds}, signal);
      count += 1;
      report(`${count} of ${format.plural(tubes.length, 'tube')}`);
    }
    return tubes.length === 1 ? `${tubes[0]} ${verb}` : `${format.plural(count, 'tube')} ${verb}`;
  });
  done();
}

async function flush(server, tube, done) {
  const now = await ask('tube', {server, tube});
  const all = now.ready + now.delayed + now.buried;
  const answers = await askFor({
    title: `Flush ${tube}`, verb: 'Delete the jobs', isDanger: true, mustType: tube,
    text: `This deletes jobs permanently. The tube has ${format.count(all)} now: ${format.count(now.ready)} ready, ` +
      `${format.count(now.delayed)} delayed, ${format.count(now.buried)} buried. Reserved jobs are kept.`,
    fields: [{name: 'state', label: 'State', options: [['', `all ${format.count(all)}`],
      ...format.kWaiting.map((state) => [state, `${state}: ${format.count(now[state])}`])]}],
  });
  if (!answers) return;
  const state = answers.state === '' ? {} : {state: answers.state};
  await progress(`Flush ${tube}`, async (signal, report) => {
    const answer = await actFully({action: 'flush', server, tube, ...state}, signal, report);
    return `${format.plural(answer.done, 'job')} of ${tube} deleted`;
  });
  done();
}

async function put(server, tube, done) {
  const answers = await askFor({
    title: `Put a job into ${tube}`, verb: 'Put', text: 'The body is sent as UTF-8, exactly as entered.',
    fields: [{name: 'body', label: 'Body', type: 'textarea'},
      numberField('priority', 'Priority (0 is most urgent)', 0, 1024), numberField('delay', 'Delay in seconds', 0, 0),
      numberField('ttr', 'Time to run in seconds', 1, 60)],
  });
  if (!answers) return;
  await progress('Put', async (signal) => {
    const numbers = {priority: Number(answers.priority), delay: Number(answers.delay), ttr: Number(answers.ttr)};
    const answer = await act({action: 'put', server, tube, body: answers.body, ...numbers}, signal);
    return answer.message || `A job was put into ${tube}`;
  });
  done();
}

// Acts on exactly these jobs.
async function actOnJobs(verb, server, ids, done) {
  const what = ids.length === 1 ? `job ${ids[0]}` : `these ${format.count(ids.length)} jobs`;
  const texts = {
    'kick-job': ['Kick', `If buried or delayed, ${what} will become ready at once.`],
    bury: ['Bury', `Workers do not get ${what} until ${ids.length === 1 ? 'it is' : 'they are'} kicked.`],
    delete: ['Delete', `${format.plural(ids.length, 'job')} will be deleted permanently.`],
    move: ['Move', `${format.plural(ids.length, 'job')} will be moved to another tube.`],
  };
  const [word, text] = texts[verb];
  const answers = await askFor({
    title: `${word} ${what}?`, text, verb: `${word} ${format.plural(ids.length, 'job')}`, isDanger: verb === 'delete',
    fields: verb === 'move' ? [{name: 'to', label: 'Target tube', required: '', maxlength: '200'}] : [],
  });
  if (!answers) return;
  const order = {action: verb, server, ...(verb === 'move' ? {to: answers.to} : {})};
  await progress(word, (signal, report) => actOnIds(order, ids, signal, report));
  done(order);
}

// Returns all names that match a filter now.
async function namesOf(server, filter) {
  const names = [];
  for (;;) {
    const page = await ask('tubes', {server, filter, sort: 'name', reverse: 0, from: names.length, count: kTubesMax});
    names.push(...page.tubes.map((tube) => tube.name));
    if (page.tubes.length === 0 || names.length >= page.matching) return names;
  }
}

function guarded(work) {
  return () => work().catch((error) => toast(error.message, true));
}

export const actionBar = {
  ofTube(server, tube, done) {
    const made = bar(() => [
      button('Put…', guarded(() => put(server, tube, done)), {class: 'put'}),
      button('Kick…', guarded(() => kick(server, tube, done))),
      button('Pause…', guarded(() => pause(server, [tube], done)), {class: 'pause'}),
      button('Resume', guarded(() => setPause(server, [tube], 0, done)), {class: 'resume'}),
      button('Flush…', guarded(() => flush(server, tube, done)), {class: 'danger'}),
    ]);
    return {...made, setPaused: (isPaused) => made.element.classList.toggle('can-resume', isPaused)};
  },

  // ids() returns the jobs that are shown; done(order) is called after an action.
  ofJobs(server, ids, done) {
    const on = (verb) => guarded(() => actOnJobs(verb, server, ids(), done));
    return bar((now) => [
      button('Kick…', on('kick-job')),
      // Both need reserve-job, which beanstalkd has from 1.12 on.
      now.has_reserve_job ? button('Bury…', on('bury')) : null,
      now.has_reserve_job ? button('Move…', on('move')) : null,
      button('Delete…', on('delete'), {class: 'danger'}),
    ]);
  },

  // Shown only while a filter is set; acts on the tubes that match it.
  ofTubes(server, query, done) {
    const made = bar(() => [
      button('Pause these…', guarded(async () => pause(server, await namesOf(server, query.filter), done))),
      button('Resume these', guarded(async () => resumeThese(server, await namesOf(server, query.filter), done))),
    ]);
    const element = el('span', {hidden: true}, made.element);
    const update = ({matching, filter}) => {
      element.hidden = filter === '' || matching === 0;
    };
    return {element, allow: made.allow, update};
  },
};

async function resumeThese(server, names, done) {
  const title = `Resume ${format.plural(names.length, 'tube')}?`;
  if (await askFor({title, text: 'Workers get their jobs again.', verb: 'Resume'})) await setPause(server, names, 0, done);
}
