import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Kernel, KernelMessage } from '@jupyterlab/services';

type IOutput = Parameters<CodeCell['model']['outputs']['add']>[0];

/** The outputs of a cell that no page has shown to their end. The kernel's file `kept.rs` describes them. */
export interface IKept {
  id: string;
  number: number;
  request: string;
  running: boolean;
  outputs: IOutput[];
  display_ids: (string | null)[];
}

/** Shows the outputs that cells had while their notebook was closed, and those that running cells will have. */
export function restore(
  panel: NotebookPanel,
  kernel: Kernel.IKernelConnection,
  all: IKept[],
  onEnd: (id: string) => void
): void {
  // Another page that shares the notebook shows them.
  const pages = panel.model?.sharedModel as { awareness?: { getStates(): Map<number, unknown> } } | undefined;
  if ((pages?.awareness?.getStates().size ?? 1) > 1) {
    return;
  }
  for (const kept of all) {
    const cell = panel.content.widgets.find(it => it.model.id === kept.id);
    if (cell instanceof CodeCell) {
      new Restored(cell, kernel, kept, () => onEnd(kept.id));
    }
  }
}

class Restored {
  constructor(
    private _cell: CodeCell,
    private _kernel: Kernel.IKernelConnection,
    private _kept: IKept,
    private _onEnd: () => void
  ) {
    // What the kernel of this session sends is trusted, as if the cell had run in this page.
    _cell.model.trusted = true;
    _cell.model.outputs.clear();
    _kept.outputs.forEach((output, index) => this._add(output, _kept.display_ids[index]));
    if (_kept.running) {
      _cell.model.executionCount = null;
      _cell.model.executionState = 'running';
      _kernel.iopubMessage.connect(this._onMessage, this);
    } else {
      this._end();
    }
  }

  private _onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    if (this._cell.isDisposed) {
      this._kernel.iopubMessage.disconnect(this._onMessage, this);
    } else if (KernelMessage.isUpdateDisplayDataMsg(message)) {
      this._update(message);
    } else if ((message.parent_header as KernelMessage.IHeader).msg_id === this._kept.request) {
      this._onAnswer(message);
    }
  }

  private _onAnswer(message: KernelMessage.IIOPubMessage): void {
    if (
      KernelMessage.isStreamMsg(message) ||
      KernelMessage.isDisplayDataMsg(message) ||
      KernelMessage.isExecuteResultMsg(message) ||
      KernelMessage.isErrorMsg(message)
    ) {
      const { transient, ...content } = message.content as { transient?: { display_id?: string } };
      this._add({ ...content, output_type: message.header.msg_type }, transient?.display_id);
    } else if (KernelMessage.isClearOutputMsg(message)) {
      this._cell.model.outputs.clear(message.content.wait);
      this._displays.clear();
    } else if (KernelMessage.isStatusMsg(message) && message.content.execution_state === 'idle') {
      this._kernel.iopubMessage.disconnect(this._onMessage, this);
      this._end();
    }
  }

  private _add(output: IOutput, display: string | null | undefined): void {
    const outputs = this._cell.model.outputs;
    outputs.add(output);
    if (display) {
      this._displays.set(display, outputs.length - 1);
    }
  }

  private _update(message: KernelMessage.IUpdateDisplayDataMsg): void {
    const { data, metadata, transient } = message.content;
    const index = this._displays.get(transient.display_id as string);
    if (index !== undefined) {
      this._cell.model.outputs.set(index, { output_type: 'display_data', data, metadata });
    }
  }

  private _end(): void {
    this._cell.model.executionState = 'idle';
    this._cell.model.executionCount = this._kept.number;
    this._onEnd();
  }

  private _displays = new Map<string, number>();
}
