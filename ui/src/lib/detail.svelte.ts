// One item in full, kept while a fresher copy is under way. The newest question wins, however the answers arrive.
import { HostError } from '../platform';

export class Detail<T> {
  value = $state.raw<T | null>(null);
  /** True when the item is not there any more; `value` is then its last state. */
  gone = $state(false);
  error = $state.raw<string | null>(null);
  private asked = 0;

  /** Asks for an item. `fresh` forgets the one shown before. */
  async load(fetch: () => Promise<T>, fresh: boolean): Promise<void> {
    this.asked += 1;
    const mine = this.asked;
    if (fresh) {
      this.value = null;
      this.gone = false;
      this.error = null;
    }
    try {
      const value = await fetch();
      if (mine !== this.asked) return;
      this.value = value;
      this.gone = false;
      this.error = null;
    } catch (reason) {
      if (mine !== this.asked) return;
      this.gone = reason instanceof HostError && reason.code === 'notFound';
      this.error = this.gone ? null : reason instanceof Error ? reason.message : String(reason);
    }
  }
}
