// What changes something on a server. None of it is drawn unless the program allows changes. What
// destroys asks first, and says how many jobs it will touch.
import {act, ask} from './api.js';
import {askFor, progress} from './dialog.js';
import {button, el, replace, toast} from './dom.js';
import * as format from './format.js';

const kIdsMax = 1000;  // In one order.
const kTubesMax = 500;  // In one answer of api/tubes.
const kPauseSeconds = 600;
const kNumberMax = 4294967295;

function numberField(name, label, min, value, max = kNumberMax) {
  return {name, label, type: 'number', min, max, value, required: ''};
}

// Sends an order until the server has done all of it: it may do a piece at a time.
async function actFully(order, signal, say) {
  let done = 0;
  for (;;) {
    const answer = await act(order, signal);
    done += answer.done ?? 0;
    if (!answer.goes_on) return {...answer, done};
    say(`${format.plural(done, 'job')} so far`);
  }
}

// The same for any number of jobs.
async function actOnIds(order, ids, signal, say) {
  let done = 0;
  let missing = 0;
  let message = '';
  for (let at = 0; at < ids.length; at += kIdsMax) {
    const answer = await actFully({...order, ids: ids.slice(at, at + kIdsMax)}, signal, say);
    done += answer.done;
    missing += answer.not_found ?? 0;
    message ||= answer.message ?? '';
    say(`${format.count(Math.min(at + kIdsMax, ids.length))} of ${format.count(ids.length)}`);
  }
  return `${format.plural(done, 'job')} done${missing > 0 ? `, ${format.count(missing)} not found (they have moved on)` : ''}${message && `. ${message}`}`;
}

// A bar of buttons that are there only if changes are allowed. make(server) gives the buttons.
function bar(make) {
  const element = el('div', {class: 'actions', role: 'group', 'aria-label': 'Actions', hidden: true});
  let state = '';
  const allow = (isAllowed, server) => {
    const now = `${isAllowed} ${server?.state} ${server?.has_reserve_job}`;
    if (now === state) return;
    state = now;
    element.hidden = !isAllowed;
    replace(element, isAllowed && server ? make(server) : []);
  };
  return {element, allow};
}

async function kick(server, tube, done) {
  const now = await ask('tube', {server, tube});
  const from = now.buried > 0 ? ['buried', now.buried] : ['delayed', now.delayed];
  if (from[1] === 0) {
    toast(`${tube} has no buried and no delayed job to kick.`);
    return;
  }
  const answers = await askFor({
    title: `Kick jobs of ${tube}`, verb: 'Kick',
    text: `${format.plural(from[1], 'job')} ${from[1] === 1 ? 'is' : 'are'} ${from[0]}. Kicked jobs are ready at once.`,
    fields: [numberField('count', 'How many', 1, from[1], from[1])],
  });
  if (!answers) return;
  const count = Number(answers.count);
  await progress(`Kick ${tube}`, async (signal, say) => {
    const answer = await actFully({action: 'kick', server, tube, count}, signal, say);
    return `${format.plural(answer.done, 'job')} of ${tube} kicked`;
  });
  done();
}

async function pause(server, tubes, done) {
  const what = tubes.length === 1 ? tubes[0] : format.plural(tubes.length, 'tube');
  const answers = await askFor({
    title: `Pause ${what}`, verb: 'Pause', text: 'Workers get no job of a paused tube. Producers may go on.',
    fields: [numberField('seconds', 'Seconds', 1, kPauseSeconds)],
  });
  if (answers) await setPause(server, tubes, Number(answers.seconds), done);
}

async function setPause(server, tubes, seconds, done) {
  const verb = seconds > 0 ? 'paused' : 'resumed';
  await progress(seconds > 0 ? 'Pause' : 'Resume', async (signal, say) => {
    let count = 0;
    for (const tube of tubes) {
      await act({action: 'pause', server, tube, seconds}, signal);
      count += 1;
      say(`${count} of ${format.plural(tubes.length, 'tube')}`);
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
    text: `This deletes jobs for good: ${format.count(all)} are there now (${format.count(now.ready)} ready, ` +
      `${format.count(now.delayed)} delayed, ${format.count(now.buried)} buried). Reserved jobs stay with their workers.`,
    fields: [{name: 'state', label: 'Which', options: [['', `all ${format.count(all)}`],
      ...format.kWaiting.map((state) => [state, `${state}: ${format.count(now[state])}`])]}],
  });
  if (!answers) return;
  const state = answers.state === '' ? {} : {state: answers.state};
  await progress(`Flush ${tube}`, async (signal, say) => {
    const answer = await actFully({action: 'flush', server, tube, ...state}, signal, say);
    return `${format.plural(answer.done, 'job')} of ${tube} deleted`;
  });
  done();
}

async function put(server, tube, done) {
  const answers = await askFor({
    title: `Put a job into ${tube}`, verb: 'Put', text: 'The body is sent as UTF-8, exactly as it stands here.',
    fields: [{name: 'body', label: 'Body', type: 'textarea'},
      numberField('priority', 'Priority (0 is the most urgent)', 0, 1024), numberField('delay', 'Delay in seconds', 0, 0),
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
    'kick-job': ['Kick', `Buried and delayed ones among ${what} are ready at once.`],
    bury: ['Bury', `Workers get ${what} no more until somebody kicks ${ids.length === 1 ? 'it' : 'them'}.`],
    delete: ['Delete', `${format.plural(ids.length, 'job')} will be gone for good.`],
    move: ['Move', `${format.plural(ids.length, 'job')} will go to another tube.`],
  };
  const [word, text] = texts[verb];
  const answers = await askFor({
    title: `${word} ${what}?`, text, verb: `${word} ${format.plural(ids.length, 'job')}`, isDanger: verb === 'delete',
    fields: verb === 'move' ? [{name: 'to', label: 'To the tube', required: '', maxlength: '200'}] : [],
  });
  if (!answers) return;
  const order = {action: verb, server, ...(verb === 'move' ? {to: answers.to} : {})};
  await progress(word, (signal, say) => actOnIds(order, ids, signal, say));
  done();
}

// All names that a filter shows, at this moment.
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
      button('Put…', guarded(() => put(server, tube, done))),
      button('Kick…', guarded(() => kick(server, tube, done))),
      button('Pause…', guarded(() => pause(server, [tube], done)), {class: 'pause'}),
      button('Resume', guarded(() => setPause(server, [tube], 0, done)), {class: 'resume'}),
      button('Flush…', guarded(() => flush(server, tube, done)), {class: 'danger'}),
    ]);
    return {...made, setPaused: (isPaused) => made.element.classList.toggle('can-resume', isPaused)};
  },

  // `ids()` gives the jobs that are shown.
  ofJobs(server, ids, done) {
    const on = (verb) => guarded(() => actOnJobs(verb, server, ids(), done));
    return bar((now) => [
      button('Kick…', on('kick-job')),
      // Both begin with reserve-job, which beanstalkd has from 1.12 on.
      now.has_reserve_job ? button('Bury…', on('bury')) : null,
      now.has_reserve_job ? button('Move…', on('move')) : null,
      button('Delete…', on('delete'), {class: 'danger'}),
    ]);
  },

  // Only while a filter is set: what it shows is what is acted on.
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
