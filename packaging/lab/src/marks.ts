import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { PanelLayout, Widget } from '@lumino/widgets';
import { Connection, IStaleCell } from './connection';

/** Shows at the cells of a notebook what the kernel says about them. */
export class Marks {
  constructor(
    private _panel: NotebookPanel,
    private _connection: Connection,
    private _runStale: () => void
  ) {
    // Read aloud when the number of stale cells changes.
    this._status.className = 'taper-Status';
    this._status.setAttribute('role', 'status');
    _panel.node.append(this._status);
    _connection.changed.connect(() => this.update());
    _panel.content.activeCellChanged.connect(() => this.update());
  }

  update(): void {
    const { compiling, stale } = this._connection;
    for (const cell of this._panel.content.widgets) {
      if (!(cell instanceof CodeCell)) {
        continue;
      }
      const id = cell.model.id;
      cell.toggleClass('taper-mod-compiling', id === compiling);
      this._mark(cell, stale.get(id));
    }
    const count = stale.size;
    const text = count === 0 ? '' : count === 1 ? '1 cell is stale' : `${count} cells are stale`;
    if (this._status.textContent !== text) {
      this._status.textContent = text;
    }
  }

  private _mark(cell: CodeCell, stale: IStaleCell | undefined): void {
    cell.toggleClass('taper-mod-stale', stale !== undefined);
    const note = this._notes.get(cell);
    if (!stale) {
      note?.dispose();
      this._notes.delete(cell);
      return;
    }
    const text = inWords(stale);
    if (note?.text === text && note.isAttached) {
      return;
    }
    note?.dispose();
    const layout = cell.layout as PanelLayout;
    const input = layout.widgets.findIndex(it => it.hasClass('jp-Cell-inputWrapper'));
    if (input < 0) {
      // Far away from what is seen; then it has no input yet.
      void cell.ready.then(() => this.update());
      return;
    }
    const added = new Note(text, this._runStale);
    this._notes.set(cell, added);
    layout.insertWidget(input + 1, added);
  }

  private _notes = new WeakMap<CodeCell, Note>();
  private _status = document.createElement('div');
}

/** The line below the source of a stale cell. */
class Note extends Widget {
  constructor(
    readonly text: string,
    runStale: () => void
  ) {
    super();
    this.addClass('taper-StaleNote');
    this.node.setAttribute('role', 'note');
    const reason = document.createElement('span');
    // Names are between backticks.
    text.split('`').forEach((part, index) => {
      const node = document.createElement(index % 2 ? 'code' : 'span');
      node.textContent = part;
      reason.append(node);
    });
    const button = document.createElement('button');
    button.textContent = 'Run stale cells';
    button.addEventListener('click', runStale);
    this.node.append(reason, button);
  }
}

function inWords(stale: IStaleCell): string {
  const sign = stale.certain ? 'Stale' : 'Perhaps stale';
  return `${sign}: ${stale.reasons.join('; ')}`;
}
