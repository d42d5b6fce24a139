// What all list screens share: selecting rows, the bar below them, the context menu, columns that are remembered.
import { cleanup, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { live } from '../lib/live.svelte';
import { FakeHost } from './fakeHost';
import { keyDetail, keyRow, keysPage } from './fixtures';

const rows = ['a', 'b', 'c', 'd'].map((key) => keyRow({ key }));

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/keys';
  new FakeHost({ keys: () => keysPage(rows, { total: 187 }), key: () => keyDetail(rows[0]!) });
});
afterEach(cleanup);

async function openKeys() {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await screen.findAllByTestId('keys.row');
  screen.getByTestId('keys.table').focus();
  return user;
}

const selected = () =>
  screen
    .getAllByTestId('keys.row')
    .filter((row) => row.getAttribute('aria-selected') === 'true')
    .map((row) => row.dataset.key)
    .join('');

it('selects with the keyboard as a list of files does', async () => {
  const user = await openKeys();
  await user.keyboard(' ');
  expect(selected()).toBe('a');
  await user.keyboard('{Shift>}{ArrowDown}{ArrowDown}{/Shift}');
  expect(selected()).toBe('abc');
  expect(screen.getByTestId('keys.bulk').textContent).toContain('3 selected');
  await user.keyboard('{Control>}a{/Control}');
  expect(selected()).toBe('abcd');
  await user.keyboard('{Control>}a{/Control}');
  expect(screen.getByTestId('keys.bulk').textContent).toContain('All 187 that match');
  await user.keyboard('{Escape}');
  expect(selected()).toBe('');
  expect(screen.queryByTestId('keys.bulk')).toBeNull();
});

it('selects with the mouse without opening anything', async () => {
  const user = await openKeys();
  await user.click(screen.getAllByTestId('keys.check')[1]!);
  await user.keyboard('{Shift>}');
  await user.click(screen.getAllByTestId('keys.row')[3]!);
  await user.keyboard('{/Shift}');
  expect(selected()).toBe('bcd');
  expect(screen.queryByTestId('keys.drawer')).toBeNull();
});

it('opens the same menu by Shift F10 and by right click, and its entries act on that row', async () => {
  const user = await openKeys();
  await user.keyboard('{ArrowDown}{Shift>}{F10}{/Shift}');
  const menu = await screen.findByTestId('keys.menu');
  expect(within(menu).getByTestId('keys.menu.release').textContent).toContain('Release key…');
  await user.keyboard('{Escape}');
  await waitFor(() => expect(screen.queryByTestId('keys.menu')).toBeNull());
  await user.pointer({ keys: '[MouseRight]', target: screen.getAllByTestId('keys.row')[2]! });
  await user.click(await screen.findByTestId('keys.menu.owner'));
  await waitFor(() => expect(location.hash).toContain('#/jobs?open='));
});

it('remembers which columns are hidden', async () => {
  const user = await openKeys();
  expect(screen.getByRole('columnheader', { name: /owner/i })).toBeTruthy();
  await user.click(screen.getByTestId('keys.more'));
  const column = (await screen.findAllByTestId('keys.column')).find((item) => item.dataset.column === 'owner')!;
  await user.click(column);
  await waitFor(() => expect(screen.queryByRole('columnheader', { name: /owner/i, hidden: true })).toBeNull());
  expect(localStorage.getItem('onceover.columns.keys')).toContain('"owner":false');
});
