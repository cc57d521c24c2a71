import { Dialog, showDialog } from '@jupyterlab/apputils';
import { NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage } from '@jupyterlab/services';
import { Panel, Widget } from '@lumino/widgets';

const MORE =
  'Shift-Tab on a name shows its documentation. All of it, with the chapters, is in the book: ' +
  '“cargo taper book serve --open” in a clone of Taper. “taper course FOLDER” writes the chapters into a folder.';

/** Shows the commands of the kernel, as `:help` lists them, and where the documentation is. */
export async function showHelp(panel: NotebookPanel): Promise<void> {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    return;
  }
  const body = new Panel();
  body.addClass('taper-Help');
  const more = new Widget({ node: document.createElement('p') });
  more.node.textContent = MORE;
  body.addWidget(more);
  const answers: Promise<void>[] = [];
  const future = kernel.requestExecute({ code: ':help', store_history: false, allow_stdin: false });
  future.onIOPub = message => {
    if (KernelMessage.isDisplayDataMsg(message) || KernelMessage.isExecuteResultMsg(message)) {
      const { rendermime } = panel.content;
      const model = rendermime.createModel({ data: message.content.data, trusted: true });
      const table = rendermime.createRenderer('text/html');
      body.addWidget(table);
      answers.push(table.renderModel(model));
    }
  };
  await future.done;
  await Promise.all(answers);
  await showDialog({ title: 'Taper', body, buttons: [Dialog.okButton({ label: 'Close' })] });
}
