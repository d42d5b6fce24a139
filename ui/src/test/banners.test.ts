// What the whole window must know about the data file and the clock.
import { cleanup, render, screen, waitFor, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { FakeHost } from './fakeHost';
import { keysPage, NOW, overview } from './fixtures';

const full = 'cannot write to /data/onceover.db: the disk is full. Free some space on it, then try again.';

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/keys';
});
afterEach(cleanup);

it('shows why nothing can be stored until it is over', async () => {
  let storageTrouble: string | null = full;
  const host = new FakeHost({ keys: () => keysPage([]), overview: () => overview({ storageTrouble }) });
  render(App);
  const banner = await screen.findByTestId('banner.storage');
  expect(banner.getAttribute('role')).toBe('alert');
  expect(within(banner).getByText(/The data file cannot be written: .*the disk is full/)).toBeTruthy();
  storageTrouble = null;
  host.hint();
  await waitFor(() => expect(screen.queryByTestId('banner.storage')).toBeNull());
});

it('shows what happened until each is dismissed', async () => {
  const notices = [
    { at: NOW - 2000, text: 'The data file was deleted.' },
    { at: NOW - 1000, text: 'The clock went ahead by 1 d 0 h.' },
  ];
  new FakeHost({ keys: () => keysPage([]), overview: () => overview({ notices }) });
  render(App);
  const user = userEvent.setup();
  const texts = () => screen.queryAllByTestId('banner.notice').map((banner) => banner.textContent ?? '');
  await waitFor(() => expect(texts()).toHaveLength(2));
  await user.click(screen.getAllByTestId('banner.notice.dismiss')[0]!);
  await waitFor(() => expect(texts()).toHaveLength(1));
  expect(texts()[0]).toContain('The clock went ahead');
});
