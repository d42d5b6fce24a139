// Custom job ids among the keys: they cannot be released, their jobs are removed; all that match are read first.
import { cleanup, render, screen, waitFor } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import App from '../App.svelte';
import { live } from '../lib/live.svelte';
import { FakeHost } from './fakeHost';
import { keyRow, keysPage } from './fixtures';

const rows = ['a', 'b', 'c'].map((key) => keyRow({ key, kind: 'jobId', ownerId: key }));
let host: FakeHost;

beforeEach(() => {
  localStorage.clear();
  location.hash = '#/keys?chip=jobIds';
  const [first, second] = [keysPage(rows.slice(0, 2), { total: 3, next: 'x' }), keysPage(rows.slice(2), { total: 3 })];
  host = new FakeHost({ keys: (request) => (request.after === 'x' ? second : first) });
});
afterEach(cleanup);

it('removes the jobs of all ids that match, not only of the loaded ones', async () => {
  const user = userEvent.setup();
  render(App);
  await waitFor(() => expect(live.canAct).toBe(true));
  await screen.findAllByTestId('keys.row');
  screen.getByTestId('keys.table').focus();
  await user.keyboard('{Control>}a{/Control}{Control>}a{/Control}');
  expect(screen.queryByTestId('keys.bulk.release')).toBeNull();
  await user.click(screen.getByTestId('keys.bulk.removeJob'));
  await waitFor(() =>
    expect(host.sent('jobsPreview')[0]).toMatchObject({ action: 'remove', jobs: { by: 'ids', ids: ['a', 'b', 'c'] } }),
  );
});
