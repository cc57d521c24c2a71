import { Extension, StateEffect, StateField, Text } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView } from '@codemirror/view';
import { CodeCell } from '@jupyterlab/cells';
import { CodeMirrorEditor } from '@jupyterlab/codemirror';
import { NotebookPanel } from '@jupyterlab/notebook';

/** The type of what `%%profile` shows. */
const MIME_TYPE = 'application/vnd.taper.profile+json';

interface IProfile {
  milliseconds: number;
  lines: ILine[];
}

interface ILine {
  line: number;
  text: string;
  milliseconds: number;
  calls: number;
  bytes: number | null;
}

/** Shows beside the lines of profiled cells what the lines took. It is in the output, so it is there again when the
    notebook is opened. */
export function showProfiles(panel: NotebookPanel): void {
  const known = new WeakSet<CodeCell>();
  const find = () => {
    for (const cell of panel.content.widgets) {
      if (cell instanceof CodeCell && !known.has(cell)) {
        known.add(cell);
        const update = () => show(cell);
        cell.model.outputs.changed.connect(update);
        void cell.ready.then(update);
      }
    }
  };
  void panel.context.ready.then(() => {
    panel.content.model?.cells.changed.connect(() => requestAnimationFrame(find));
    find();
  });
}

const setProfile = StateEffect.define<IProfile | null>();

interface IState {
  profile: IProfile | null;
  shown: DecorationSet;
}

/** A line that was edited since the measurement shows nothing. */
const field = StateField.define<IState>({
  create: () => ({ profile: null, shown: Decoration.none }),
  update: (state, transaction) => {
    let { profile } = state;
    for (const effect of transaction.effects) {
      if (effect.is(setProfile)) {
        profile = effect.value;
      }
    }
    if (profile === state.profile && !transaction.docChanged) {
      return state;
    }
    return { profile, shown: decorations(profile, transaction.newDoc) };
  },
  provide: field => EditorView.decorations.from(field, state => state.shown)
});

function decorations(profile: IProfile | null, text: Text): DecorationSet {
  const shown = (profile?.lines ?? []).flatMap(it => {
    const line = it.line <= text.lines ? text.line(it.line) : null;
    if (line?.text !== it.text) {
      return [];
    }
    const part = Math.round((100 * it.milliseconds) / Math.max(profile!.milliseconds, 1e-9));
    const attributes = {
      'data-taper-profile': inWords(it),
      'data-taper-time': milliseconds(it.milliseconds),
      style: `--taper-part: ${part}%`
    };
    return [Decoration.line({ attributes }).range(line.from)];
  });
  return Decoration.set(shown, true);
}

function show(cell: CodeCell): void {
  const editor = cell.editor;
  if (!(editor instanceof CodeMirrorEditor)) {
    return;
  }
  const profile = profileOf(cell);
  const view = editor.editor;
  if (view.state.field(field, false) === undefined) {
    if (!profile) {
      return;
    }
    editor.injectExtension(field as Extension);
  }
  view.dispatch({ effects: setProfile.of(profile) });
}

function profileOf(cell: CodeCell): IProfile | null {
  const outputs = cell.model.outputs;
  for (let index = 0; index < outputs.length; index++) {
    const profile = outputs.get(index).data[MIME_TYPE] as unknown as IProfile | undefined;
    if (profile && Array.isArray(profile.lines)) {
      return profile;
    }
  }
  return null;
}

function inWords(line: ILine): string {
  const parts = [milliseconds(line.milliseconds), `${line.calls} ×`];
  if (line.bytes !== null) {
    parts.push(bytes(line.bytes));
  }
  return parts.join(' · ');
}

function milliseconds(value: number): string {
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ms`;
}

function bytes(value: number): string {
  for (const [size, unit] of [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']] as const) {
    if (value >= size * 0.9995) {
      return `${(value / size).toFixed(1)} ${unit}`;
    }
  }
  return `${value} B`;
}
