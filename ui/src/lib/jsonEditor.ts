// The JSON editor's parts, in a chunk of their own that is loaded when somebody edits. CodeMirror and not a text area: it
// draws only what is visible, so a payload of megabytes can be edited, and it finds, folds and marks mistakes.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { HighlightStyle, bracketMatching, foldGutter, foldKeymap, syntaxHighlighting } from '@codemirror/language';
import { linter } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, drawSelection, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** Texts longer than this are not parsed on each change, so that typing stays quick. */
const LINT_CHARS_MAX = 256 * 1024;

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--replaced)' },
  { tag: tags.string, color: 'var(--created)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--extended)' },
  { tag: tags.invalid, color: 'var(--rejected)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '12px', backgroundColor: 'var(--bg0)', color: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--bg1)', color: 'var(--text3)', borderRight: '1px solid var(--line)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--sel) !important' },
  '.cm-matchingBracket': { backgroundColor: 'var(--sel)', outline: 'none' },
  '.cm-panels': { backgroundColor: 'var(--bg1)', color: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--bg1)', border: '1px solid var(--line)', color: 'var(--text)' },
});

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  label: string;
  readOnly: boolean;
  onchange: (text: string) => void;
}

export interface Editor {
  /** Replaces the text, for a change that did not come from typing. */
  set: (text: string) => void;
  focus: () => void;
  destroy: () => void;
}

export function createEditor({ parent, text, label, readOnly, onchange }: EditorOptions): Editor {
  const lint = jsonParseLinter();
  // In a shadow root the editor adopts its style sheets; in the document it would write style elements, which a strict
  // content policy forbids.
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        json(),
        syntaxHighlighting(colours),
        search({ top: true }),
        highlightSelectionMatches(),
        linter((view) => (view.state.doc.length > 0 && view.state.doc.length <= LINT_CHARS_MAX ? lint(view) : [])),
        // Tab leaves the editor, as it leaves every other field.
        // Ctrl Enter belongs to what is around: it saves or sends.
        keymap.of([
          ...defaultKeymap.filter((binding) => binding.key !== 'Mod-Enter'),
          ...historyKeymap,
          ...searchKeymap,
          ...foldKeymap,
        ]),
        EditorState.readOnly.of(readOnly),
        EditorView.contentAttributes.of({ 'aria-label': label, 'data-testid': 'editor' }),
        EditorView.updateListener.of((update) => update.docChanged && onchange(update.state.doc.toString())),
        look,
      ],
    }),
  });
  return {
    set: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
