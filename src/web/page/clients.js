// The connections of a server, one page at a time. Only the page that is shown is requested and
// sorted.
import {ask} from './api.js';
import {el, setHidden, setText, troubleLine} from './dom.js';
import * as format from './format.js';
import {BigTable} from './table.js';
import {keepInLink, link} from './view.js';

const kCount = 500;  // Rows of a page.
const kRefreshEvery = 2000;  // Milliseconds.

const columnsOf = (server) => [
  {key: 'id', label: 'Client', kind: 'client', rises: true, href: ({id}) => link('clients', {server, id})},
  {key: 'address', label: 'Address', kind: 'address', rises: true},
  {key: 'state', label: 'State', kind: 'doing', rises: true},
  {key: 'used', label: 'Uses', kind: 'used', rises: true, href: ({used}) => link('tube', {server, tube: used})},
  {key: 'jobs', label: 'Jobs', kind: 'number', text: format.shortCount},
  {key: 'watching', label: 'Watches', kind: 'number wide', text: format.shortCount},
  {key: 'commands', label: 'Commands', kind: 'number wide', text: format.shortCount},
  {key: 'age', label: 'Age', kind: 'number', text: format.roughly},
  {key: 'idle', label: 'Idle', kind: 'number', text: format.roughly},
];

export function clientLink(server, id) {
  return el('a', {href: link('clients', {server, id})}, `client ${id}`);
}

export function clientsView({server, id, from = id ?? '0', sort = 'id', reverse = '0'}, life) {
  const query = {sort, reverse};
  const found = el('span', {class: 'found'});
  const trouble = troubleLine();
  const first = el('a', {class: 'button', href: link('clients', {server})}, 'First page');
  const next = el('a', {class: 'button'}, 'Next page');
  let all = null;  // Number of all connections of the server.
  let answer = {clients: [], next: null};
  const columns = columnsOf(server);
  const show = () => {
    const {rises = false} = columns.find((one) => one.key === query.sort) ?? {};
    const sign = rises === (query.reverse === '0') ? 1 : -1;
    const order = (a, b) => (a < b ? -1 : Number(a > b));
    answer.clients.sort((a, b) => sign * order(a[query.sort], b[query.sort]) || a.id - b.id);
    table.setAll(answer.clients);
    next.href = link('clients', {server, ...query, from: answer.next});
    setHidden(next, !answer.next);
    setHidden(first, Number(from) <= 1);
    showCount();
  };
  const showCount = () => {
    const isAll = first.hidden && next.hidden;
    setText(found, isAll ? format.plural(answer.clients.length, 'client') : `${format.count(answer.clients.length)} of ${format.plural(all, 'client')}; sorted within this page`);
  };
  const table = new BigTable({
    label: `Clients of ${server}`, columns, query,
    fillRow: (cells, row, element) => {
      cells[1].title = row.address;
      element.setAttribute('aria-current', String(String(row.id) === id));
    },
    onSort: () => {
      keepInLink(query);
      table.top();
      show();
    },
  }, life);
  life.every(kRefreshEvery, async () => {
    const page = (begin) => ask('clients', {server, from: begin, count: kCount}, life.signal);
    answer = await page(from);
    // Pages are empty where many ids are free.
    while (answer.clients.length === 0 && answer.next) answer = await page(answer.next);
    show();
  }, (error) => {
    const isThere = !id || answer.clients.some((row) => String(row.id) === id);
    trouble.set(error?.message ?? (isThere ? '' : `Client ${id} has disconnected.`));
  });
  const element = el('div', {class: 'clients'}, el('div', {class: 'title'}, el('h1', {}, 'Clients'), found, el('span', {class: 'gap'}), first, next),
    trouble.element, table.element);
  const update = (data, mine) => {
    all = mine?.connections;
    showCount();
  };
  return {element, update, title: 'Clients', crumbs: [['clients', link('clients', {server})]]};
}
