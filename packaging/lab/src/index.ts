/**
 * What Taper's kernel knows about the cells of a notebook, in JupyterLab and in Notebook 7:
 *
 * - `connection.ts` asks the kernel;
 * - `marks.ts` shows which cells are stale and which one is compiled;
 * - `profile.ts` shows what the lines of a cell took;
 * - `restore.ts` shows the outputs that a cell had while its notebook was closed;
 * - `help.ts` shows the commands of the kernel;
 * - this file adds the commands.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { LabIcon } from '@jupyterlab/ui-components';
import { Connection } from './connection';
import { showHelp } from './help';
import { Marks } from './marks';
import { showProfiles } from './profile';

const RUN_STALE = 'taper:run-stale';
const RUN_NEEDED = 'taper:run-needed';
const HELP = 'taper:help';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'taper-lab:plugin',
  description: 'Shows stale cells, compilation and profiles of notebooks in Rust.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette],
  activate
};

/** The cells above, and the run of this one: the notebook's own toolbar has the plain triangle, which runs one cell. */
const neededIcon = new LabIcon({
  name: 'taper:run-needed',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" viewBox="0 0 24 24"><path class="jp-icon3" fill="#616161" ' +
    'd="M6 3h12v2H6zm0 4h12v2H6zm1 4v11l10-5.5z"/></svg>'
});

export default plugin;

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  palette: ICommandPalette | null
): void {
  const connections = new WeakMap<NotebookPanel, Connection>();
  const { commands } = app;
  const current = () => {
    const panel = tracker.currentWidget;
    const connection = panel && connections.get(panel);
    return connection?.isConnected ? { panel: panel!, connection } : null;
  };
  const count = () => current()?.connection.stale.size ?? 0;

  commands.addCommand(RUN_STALE, {
    label: args => (args.toolbar ? `${count()} stale` : 'Run Stale Cells'),
    caption: 'Run the cells that would show something else if all cells ran from the top',
    isEnabled: () => count() > 0,
    isVisible: args => !args.toolbar || count() > 0,
    execute: () => run(current(), runStale)
  });
  commands.addCommand(RUN_NEEDED, {
    label: args => (args.toolbar ? '' : 'Run What This Cell Needs'),
    caption: 'Run the cells that this cell needs and that have not run or are stale, then this cell',
    icon: args => (args.toolbar ? neededIcon : undefined),
    isEnabled: () => current()?.panel.content.activeCell?.model.type === 'code',
    isVisible: () => current() !== null,
    execute: () => run(current(), runNeeded)
  });
  commands.addCommand(HELP, {
    label: 'Commands of Taper',
    caption: 'Show the commands of the kernel, and where the documentation is',
    isVisible: () => current() !== null,
    execute: () => run(current(), ({ panel }) => showHelp(panel))
  });
  for (const command of [RUN_STALE, RUN_NEEDED]) {
    palette?.addItem({ command, category: 'Notebook Operations' });
  }
  palette?.addItem({ command: HELP, category: 'Help' });
  // The toolbars, the menu and the shortcuts are in the schema.

  const refresh = () => {
    commands.notifyCommandChanged(RUN_STALE);
    commands.notifyCommandChanged(RUN_NEEDED);
    commands.notifyCommandChanged(HELP);
    // For the panel of the debugger, which shows the variables of the current notebook.
    document.body.classList.toggle('taper-mod-current', current() !== null);
  };
  const add = (panel: NotebookPanel) => {
    if (connections.has(panel)) {
      return;
    }
    const connection = new Connection(panel);
    connections.set(panel, connection);
    const marks = new Marks(panel, connection, () => void run({ panel, connection }, runStale));
    // A new notebook gets its language when its first kernel has started.
    const language = () => {
      panel.toggleClass('taper-mod-rust', panel.model?.defaultKernelLanguage === 'rust');
    };
    void panel.context.ready.then(() => {
      language();
      panel.model?.metadataChanged.connect(language);
      marks.update();
    });
    connection.changed.connect(refresh);
    showProfiles(panel);
  };
  tracker.forEach(add);
  tracker.widgetAdded.connect((_, panel) => add(panel));
  tracker.currentChanged.connect(refresh);
  tracker.activeCellChanged.connect(refresh);
}

interface IOpen {
  panel: NotebookPanel;
  connection: Connection;
}

async function run(open: IOpen | null, how: (open: IOpen) => Promise<void>): Promise<void> {
  if (open) {
    await how(open);
  }
}

/** Runs the stale cells, and those that become stale thereby, each once. */
async function runStale(open: IOpen): Promise<void> {
  const ran = new Set<string>();
  for (;;) {
    const ids = [...open.connection.stale.keys()].filter(id => !ran.has(id));
    if (ids.length === 0 || !(await runCells(open.panel, ids))) {
      return;
    }
    ids.forEach(id => ran.add(id));
  }
}

async function runNeeded({ panel, connection }: IOpen): Promise<void> {
  const active = panel.content.activeCell;
  if (active) {
    await runCells(panel, await connection.needed(active.model.id));
  }
}

/** Runs cells in the order of the notebook. Returns whether none has failed. */
async function runCells(panel: NotebookPanel, ids: string[]): Promise<boolean> {
  const cells = panel.content.widgets.filter(cell => ids.includes(cell.model.id));
  return NotebookActions.runCells(panel.content, cells, panel.sessionContext);
}
