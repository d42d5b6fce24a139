// Which of many an action left as they were, for the dialog that lists them with their reasons.
import type { LeftAlone } from '../bindings/LeftAlone';

export const leftAlone = $state<{ title: string; items: LeftAlone[]; open: boolean }>({
  title: '',
  items: [],
  open: false,
});

export function showLeftAlone(title: string, items: LeftAlone[]): void {
  leftAlone.title = title;
  leftAlone.items = items;
  leftAlone.open = true;
}
