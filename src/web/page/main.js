// The frame of the page: choice of the view, the top line, the keys.
import {Live} from './api.js';
import {clientsView} from './clients.js';
import {el, replace, setHidden, setText, showDialog, troubleLine} from './dom.js';
import * as format from './format.js';
import {jobView} from './jobs.js';
import {searchView} from './search.js';
import {goneText, serversView, serverView} from './servers.js';
import {tubeView} from './tube.js';
import {Life, link, readLink} from './view.js';

const kViews = {'': serversView, server: serverView, tube: tubeView, job: jobView, search: searchView, clients: clientsView};
const kNeeds = {tube: 'tube', job: 'id'};  // Parameters besides the server.

const main = document.getElementById('main');
const gone = troubleLine();  // Shown above each view of a server.
const crumbs = document.getElementById('crumbs');
const alarm = document.getElementById('alarm');
const live = document.getElementById('live');
const logout = document.getElementById('logout');

let servers = null;  // The last answer of api/servers.
let view = null;
let life = null;

function show() {
  life?.end();
  life = new Life();
  const {name, parameters} = readLink();
  const {server} = parameters;
  const isWhole = kViews[name] && (!name || (server && (!kNeeds[name] || parameters[kNeeds[name]])));
  view = isWhole ? kViews[name](parameters, life) : missingView();
  replace(main, gone.element, view.element);
  document.title = `${view.title} · haricot`;
  const path = [['Servers', '#/'], ...(isWhole && name ? [[server, link('server', {server})]] : []), ...view.crumbs];
  replace(crumbs, el('ol', {}, path.map(([text, href], i) => el('li', {},
    el('a', {href, 'aria-current': i === path.length - 1 ? 'page' : null}, text)))));
  update();
}

function update() {
  const {server} = readLink().parameters;
  const mine = servers?.servers.find((one) => one.name === server);
  gone.set(goneText(mine));
  main.classList.toggle('is-gone', mine?.state === 'down');
  if (servers) view.update(servers, mine);
}

function missingView() {
  const element = el('div', {}, el('h1', {}, 'Page not found'), el('p', {}, el('a', {href: '#/'}, 'All servers')));
  return {element, update: () => {}, title: 'Not found', crumbs: []};
}

// The theme: the system's, or the user's choice.
const themeButton = document.getElementById('theme');
const kThemes = ['system', 'light', 'dark'];

function setTheme(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  setText(themeButton, `Theme: ${theme}`);
}

themeButton.addEventListener('click', () => {
  const now = document.documentElement.dataset.theme ?? 'system';
  const next = kThemes[(kThemes.indexOf(now) + 1) % kThemes.length];
  setTheme(next);
  try {
    localStorage.setItem('haricot-theme', next);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
});
setTheme(document.documentElement.dataset.theme ?? 'system');

const kKeys = [
  ['/', 'go to the filter or the search'], ['↑ ↓', 'select a row of a table'], ['← →', 'read the points of a focused chart'],
  ['g', 'go to all servers'], ['Esc', 'close a dialog, leave a field'], ['?', 'show this help'],
];

function help() {
  showDialog('Keys', el('dl', {class: 'keys'}, kKeys.map(([key, text]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)))),
    el('p', {class: 'about'}, `The address contains the view, so it can be shared. haricot ${servers?.version ?? ''}`));
}

document.getElementById('help').addEventListener('click', help);
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog')) return;
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping && event.key === 'Escape') event.target.blur();
  if (isTyping) return;
  if (event.key === '/' && view?.focusFilter) {
    event.preventDefault();
    view.focusFilter();
  } else if (event.key === '?') {
    help();
  } else if (event.key === 'g') {
    location.hash = '#/';
  }
});

window.addEventListener('hashchange', () => {
  document.querySelectorAll('dialog').forEach((dialog) => dialog.close(''));
  show();
  window.scrollTo(0, 0);
  main.focus({preventScroll: true});
});
// The link moves the focus and does not change the view.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});

show();
new Live((data) => {
  servers = data;
  setHidden(logout, !data.has_login);
  update();
}, (state, since) => {
  setText(live, {live: 'live', polling: 'polling', lost: 'disconnected'}[state]);
  live.dataset.state = state;
  setHidden(alarm, state !== 'lost');
  if (state === 'lost') setText(alarm, `haricot web has not answered since ${format.clock(since)}. The numbers are from that time.`);
});
