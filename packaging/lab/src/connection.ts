import { Cell } from '@jupyterlab/cells';
import { KernelError, Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';
import { JSONObject, PromiseDelegate } from '@lumino/coreutils';
import { ISignal, Signal } from '@lumino/signaling';
import { IKept, restore } from './restore';

/** The target of the comm. The kernel's file `stale.rs` describes the messages. */
const TARGET = 'taper.stale';

/** How long no cell is added or moved until the kernel hears of the order. */
const QUIET = 300;

/** A cell that would show something else if all cells ran from the top. */
export interface IStaleCell {
  id: string | null;
  number: number;
  certain: boolean;
  reasons: string[];
}

/** What a kernel of Taper says about the cells of a notebook. With another kernel, it says nothing. */
export class Connection {
  constructor(private _panel: NotebookPanel) {
    const session = _panel.sessionContext;
    session.kernelChanged.connect(this._restart, this);
    session.statusChanged.connect(this._onStatus, this);
    NotebookActions.executed.connect(this._onExecuted, this);
    void _panel.context.ready.then(() => {
      _panel.content.model?.cells.changed.connect(this._onCells, this);
      void this._connect();
    });
    _panel.disposed.connect(() => {
      Signal.clearData(this);
      if (this._comm && !this._comm.isDisposed) {
        this._comm.close();
      }
    });
  }

  /** Emitted when anything has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isConnected(): boolean {
    return this._comm !== null;
  }

  /** The stale cells, by their ids, in the order in which they should run. */
  get stale(): ReadonlyMap<string, IStaleCell> {
    return this._stale;
  }

  /** The id of the cell that is compiled. */
  get compiling(): string | null {
    return this._compiling;
  }

  /** Returns the ids of the cells that must run so that a cell shows what it should, and last that cell. */
  async needed(id: string): Promise<string[]> {
    if (!this._comm) {
      return [id];
    }
    const sources = codeCells(this._panel.content).map(it => [it.id, it.sharedModel.getSource()]);
    this._needed?.resolve([id]);
    this._needed = new PromiseDelegate();
    this._comm.send({ needed: id, sources });
    return this._needed.promise;
  }

  private async _connect(): Promise<void> {
    const kernel = this._panel.sessionContext.session?.kernel;
    if (!kernel || this._comm || kernel === this._asked || !kernel.handleComms) {
      return;
    }
    this._asked = kernel;
    const info = await kernel.info.catch(() => null);
    if (info?.implementation !== 'taper' || kernel !== this._asked || kernel.isDisposed) {
      return;
    }
    const comm = kernel.createComm(TARGET);
    comm.onMsg = message => this._receive(message.content.data as JSONObject);
    comm.onClose = () => this._restart(false);
    this._comm = comm;
    comm.open({ cells: this._order() });
    this._changed.emit();
  }

  /** Forgets what the last kernel has said, and asks the next one. */
  private _restart(again: unknown = true): void {
    this._comm = null;
    this._stale = new Map();
    this._compiling = null;
    this._needed?.reject(new Error('the kernel has restarted'));
    this._needed = null;
    this._changed.emit();
    if (again !== false) {
      this._asked = null;
      void this._connect();
    }
  }

  private _onStatus(_: unknown, status: Kernel.Status): void {
    if (['restarting', 'autorestarting', 'terminating', 'dead'].includes(status)) {
      this._restart(false);
      this._asked = null;
    } else if (status === 'idle') {
      if (this._compiling) {
        this._compiling = null;
        this._changed.emit();
      }
      void this._connect();
    }
  }

  /** Tells the kernel that all outputs of a cell are here. If not, it keeps them for the next page. */
  private _onExecuted(
    _: unknown,
    { notebook, cell, success, error }: { notebook: Notebook; cell: Cell; success: boolean; error?: KernelError | null }
  ): void {
    if (notebook === this._panel.content && (success || error?.errorName)) {
      this._confirm(cell.model.id);
    }
  }

  private _confirm(id: string): void {
    if (this._comm && !this._comm.isDisposed) {
      this._comm.send({ received: id });
    }
  }

  private _onCells(): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      const cells = this._order();
      if (this._comm && cells.join() !== this._sent) {
        this._sent = cells.join();
        this._comm.send({ cells });
      }
    }, QUIET);
    this._changed.emit();
  }

  private _order(): string[] {
    return codeCells(this._panel.content).map(cell => cell.id);
  }

  private _receive(data: JSONObject): void {
    if ('needed' in data) {
      this._needed?.resolve(data.needed as string[]);
      this._needed = null;
      return;
    }
    if ('outputs' in data) {
      const kept = data.outputs as unknown as IKept[];
      restore(this._panel, this._asked!, kept, id => this._confirm(id));
      return;
    }
    if ('stale' in data) {
      const cells = (data.stale ?? []) as unknown as IStaleCell[];
      this._stale = new Map(cells.flatMap(cell => (cell.id ? [[cell.id, cell] as const] : [])));
    } else {
      this._compiling = (data.compiling as string | undefined) ?? null;
    }
    this._changed.emit();
  }

  private _asked: Kernel.IKernelConnection | null = null;
  private _changed = new Signal<this, void>(this);
  private _comm: Kernel.IComm | null = null;
  private _compiling: string | null = null;
  private _needed: PromiseDelegate<string[]> | null = null;
  private _sent = '';
  private _stale: Map<string, IStaleCell> = new Map();
  private _timer = 0;
}

function codeCells(notebook: Notebook) {
  const cells = notebook.model?.cells ?? [];
  return [...cells].filter(cell => cell.type === 'code');
}
