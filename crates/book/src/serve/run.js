// Makes the code cells of a page run in a kernel on this machine. The server adds this script to the pages
// that it serves; a book that is hosted elsewhere does not have it.
(() => {
'use strict';

const build = document.currentScript.dataset.build;
const download = document.querySelector('main .actions a[download]');
const notebook = download && new URL(download.getAttribute('href'), location.href);
const page = notebook && decodeURIComponent(notebook.pathname.slice(1)).replace(/\.ipynb$/, '');

function post(command, request) {
    return fetch(`/_taper/${command}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ page, ...request }),
    });
}

// The book's own script has its words in the language of the page.
const label = window.label ?? (english => english);

function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

function button(text, title, action) {
    const made = element('button', { type: 'button', title }, text);
    made.addEventListener('click', action);
    return made;
}

// What a cell prints.
const TEXT = 'pre.stdout, pre.stderr';

// ---------------------------------------------------------------- A cell

class Cell {
    constructor(root, number) {
        this.root = root;
        this.id = root.id.replace(/^cell-id=/, '');
        this.code = root.querySelector('.input > code');
        this.key = `taper-edit:${page}:${this.id}`;
        this.state = element('span', { className: 'run-state' });
        this.state.setAttribute('role', 'status');
        if (this.code) {
            this.original = { html: this.code.innerHTML, text: textOf(this.code) };
            this.makeEditable(number);
            this.addButtons();
            this.restoreEdit();
        }
    }

    // The code to run: as edited on the page, or as stored in the notebook if the page does not show it.
    async source() {
        return this.code ? textOf(this.code) : sourceOf(this.id);
    }

    makeEditable(number) {
        const { code } = this;
        code.tabIndex = 0;
        code.spellcheck = false;
        code.setAttribute('role', 'textbox');
        code.setAttribute('aria-multiline', 'true');
        code.setAttribute('aria-label', label('Code of cell {}').replace('{}', number));
        // Editable only while it has the focus: otherwise its links to the documentation work.
        const edit = event => event.target.closest('a') || setEditable(code, true);
        code.addEventListener('pointerdown', edit);
        code.addEventListener('focus', () => setEditable(code, true));
        code.addEventListener('blur', () => {
            setEditable(code, false);
            this.highlight();
        });
        code.addEventListener('input', () => this.keepEdit());
        code.addEventListener('keydown', event => this.press(event));
        code.addEventListener('keyup', event => event.stopPropagation());
    }

    press(event) {
        event.stopPropagation(); // mdBook would turn the page, or search
        if (event.key === 'Enter') {
            event.preventDefault();
            if (event.shiftKey) {
                run([this]);
                this.next()?.code.focus();
            } else if (event.ctrlKey || event.metaKey) {
                run([this]);
            } else {
                const line = textBeforeCaret(this.code).split('\n').pop();
                insert('\n' + line.match(/^\s*/)[0] + (/[{([]$/.test(line) ? '    ' : ''));
            }
        } else if (event.key === 'Tab') {
            event.preventDefault(); // Escape leaves the cell
            if (event.shiftKey) {
                const [spaces] = textBeforeCaret(this.code).match(/ {0,4}$/);
                [...spaces].forEach(() => document.execCommand('delete'));
            } else {
                insert('    ');
            }
        } else if (event.key === 'Escape') {
            this.code.blur();
            this.runButton.focus();
        }
    }

    next() {
        return cells.slice(cells.indexOf(this) + 1).find(cell => cell.code);
    }

    addButtons() {
        this.runButton = button(label('Run'), label('Run this cell (Shift-Enter)'), () => this.isRunning ? stop() : run([this]));
        this.runButton.className = 'run-cell';
        const above = button(label('Run all above'), label('Run the cells above, then this one'),
            async () => run([...await withoutSkipped(cells.slice(0, cells.indexOf(this))), this]));
        this.resetButton = button(label('Reset'), label('Return to the code and the outputs of the book'), () => this.reset());
        this.resetButton.hidden = true;
        const bar = element('div', { className: 'run-bar' }, this.runButton, this.state, above, this.resetButton);
        this.code.parentElement.after(bar);
    }

    // Stores an edit as it is typed, so that it is not lost when the page is left or reloaded.
    keepEdit() {
        const text = textOf(this.code);
        const isEdited = text !== this.original.text;
        this.resetButton.hidden = !isEdited && !this.stored;
        store(this.key, isEdited ? text : null);
    }

    restoreEdit() {
        const text = stored(this.key);
        if (text !== null && text !== this.original.text) {
            this.code.textContent = text;
            this.resetButton.hidden = false;
            this.highlight();
        }
    }

    async highlight() {
        const text = textOf(this.code);
        if (text === this.original.text) {
            this.code.innerHTML = this.original.html;
            return;
        }
        const response = await post('highlight', { code: text });
        const html = await response.text();
        if (response.ok && document.activeElement !== this.code && textOf(this.code) === text) {
            this.code.innerHTML = html;
        }
    }

    reset() {
        this.code.innerHTML = this.original.html;
        store(this.key, null);
        if (this.stored) {
            this.shown.replaceChildren(...this.stored);
            this.stored = null;
        }
        this.state.textContent = '';
        this.resetButton.hidden = true;
        this.runButton.focus();
    }

    // Removes the outputs, and makes room for new ones: below the code, above the caption of a figure.
    clearOutputs() {
        let outputs = this.root.querySelector('.outputs');
        if (!outputs) {
            outputs = element('div', { className: 'outputs' });
            this.root.append(outputs);
        }
        this.shown = outputs.querySelector('figure') ?? outputs;
        this.stored ??= [...this.shown.childNodes];
        const caption = this.shown.querySelector('figcaption');
        this.live = element('div', { className: 'live' });
        // Keeps the height, so that the text below does not jump before the first output.
        this.live.style.minHeight = `${this.shown.clientHeight - (caption?.offsetHeight ?? 0)}px`;
        this.shown.replaceChildren(this.live, ...(caption ? [caption] : []));
        this.resetButton && (this.resetButton.hidden = false);
    }

    async change({ count, outputs }) {
        for (const [at, html] of outputs) {
            const output = element('div', { className: 'live-output' });
            output.innerHTML = html;
            // Decodes images first, so that a figure that changes does not flicker.
            await Promise.all([...output.querySelectorAll('img')].map(image => image.decode().catch(() => { })));
            const old = this.live.children[at];
            const place = placeIn(old);
            old ? old.replaceWith(output) : this.live.append(output);
            showFrom(output, place);
        }
        while (this.live.children.length > count) {
            this.live.lastElementChild.remove();
        }
        window.focusWhatScrolls?.(); // defined in the book's own script
    }

    mark(state, text) {
        this.isRunning = state === 'running';
        this.root.dataset.run = state;
        this.state.textContent = text;
        if (this.runButton) {
            this.runButton.textContent = this.isRunning ? label('Stop') : label('Run');
        }
    }

    // Runs the cell; returns whether the next one may run.
    async run() {
        const started = performance.now();
        this.mark('running', label('Running…'));
        this.clearOutputs();
        let ok = null;
        try {
            ok = await this.readChanges(await post('run', { code: await this.source() }));
        } catch {
            this.problem(label('The server does not answer. Start `taper book serve` again.'));
        }
        this.live.style.minHeight = '';
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        this.mark(ok ? 'done' : 'failed', ok ? `${seconds} s` : label('Failed after {} s').replace('{}', seconds));
        return ok || (ok === false && await hasTag(this.id, 'raises-exception'));
    }

    async readChanges(response) {
        if (!response.ok) {
            this.problem(label('This browser may not run cells any more. Press Enter in the terminal of `taper book serve`, and open the address that it prints.'));
            return null;
        }
        let done = null;
        for await (const line of lines(response.body)) {
            if ('done' in line) {
                done = line.done;
                line.problem && this.problem(line.problem);
            } else {
                await this.change(line);
            }
        }
        return done;
    }

    problem(text) {
        this.live.append(element('pre', { className: 'output error' }, text));
    }
}

// A long text shows its end, as a terminal does, unless its reader has scrolled up: returns where it is then.
function placeIn(output) {
    const text = output?.querySelector(TEXT);
    const isAtEnd = !text || text.scrollTop + text.clientHeight >= text.scrollHeight - 2;
    return isAtEnd ? Infinity : text.scrollTop;
}

function showFrom(output, place) {
    const text = output.querySelector(TEXT);
    if (text) {
        text.scrollTop = Math.min(place, text.scrollHeight);
    }
}

async function* lines(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
        const { value, done } = await reader.read();
        if (done) {
            return;
        }
        const parts = (rest + value).split('\n');
        rest = parts.pop();
        for (const part of parts) {
            yield JSON.parse(part);
        }
    }
}

// ---------------------------------------------------------------- Text

function textOf(code) {
    return code.innerText.replaceAll('\u00a0', ' ').replace(/\n$/, '');
}

function setEditable(code, isEditable) {
    try {
        code.contentEditable = isEditable ? 'plaintext-only' : 'false';
    } catch {
        code.contentEditable = String(isEditable);
    }
}

function textBeforeCaret(code) {
    const caret = getSelection().getRangeAt(0);
    const before = document.createRange();
    before.selectNodeContents(code);
    before.setEnd(caret.startContainer, caret.startOffset);
    return before.toString();
}

// Of all ways to insert text, only this one can be undone by the reader.
function insert(text) {
    document.execCommand('insertText', false, text);
}

function store(key, text) {
    try {
        text === null ? localStorage.removeItem(key) : localStorage.setItem(key, text);
    } catch { /* kept for this page only */ }
}

function stored(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

// ---------------------------------------------------------------- The notebook

let loaded = null;

async function cellOf(id) {
    loaded ??= fetch(notebook).then(response => response.json());
    return (await loaded).cells.find(cell => cell.id === id) ?? {};
}

async function sourceOf(id) {
    return [(await cellOf(id)).source ?? ''].flat().join('');
}

async function hasTag(id, ...tags) {
    return (await cellOf(id)).metadata?.tags?.some(tag => tags.includes(tag)) ?? false;
}

// ---------------------------------------------------------------- The page

let waiting = [];
let isRunning = false;

async function run(more) {
    for (const cell of more.filter(cell => !waiting.includes(cell) && !cell.isRunning)) {
        cell.mark('waiting', label('Waiting'));
        waiting.push(cell);
    }
    if (isRunning) {
        return;
    }
    isRunning = true;
    showKernel(label('Running'));
    while (waiting.length) {
        if (!await waiting.shift().run()) {
            forget();
        }
    }
    isRunning = false;
    showKernel(label('Ready'));
}

// Leaves out cells that are not run with all others, because they take too long or never end.
async function withoutSkipped(all) {
    const skipped = await Promise.all(all.map(cell => hasTag(cell.id, 'skip-execution', 'slow')));
    return all.filter((_, at) => !skipped[at]);
}

function forget() {
    waiting.forEach(cell => cell.mark('', ''));
    waiting = [];
}

function stop() {
    forget();
    return post('interrupt');
}

async function restart() {
    forget();
    await post('restart');
    showKernel(label('Restarted: variables are lost'));
}

const status = element('span', { className: 'run-state' });
status.setAttribute('role', 'status');
const stopButton = button(label('Stop'), label('Interrupt the running cell'), stop);

function showKernel(text) {
    status.textContent = text;
    stopButton.hidden = text !== label('Running');
}

function addKernelBar() {
    const bar = element('div', { className: 'kernel-bar' },
        button(label('Run all'), label('Run all cells of this page'), async () => run(await withoutSkipped(cells))),
        stopButton,
        button(label('Restart'), label('End the kernel, with all variables'), restart),
        ...openInLab(),
        status);
    bar.setAttribute('role', 'group');
    bar.setAttribute('aria-label', label('Kernel'));
    download.closest('.actions').after(bar);
    showKernel(label('Cells run on this machine. Click into the code to change it; Shift-Enter runs it.'));
}

// The link to JupyterLab, which the book hides elsewhere: it leads to the one that runs on this machine now.
function openInLab() {
    const links = [...document.querySelectorAll('main .actions a.local')];
    for (const link of links) {
        const notebook = decodeURIComponent(new URL(link.href).pathname.split('/lab/tree/').pop());
        const find = async () => {
            const { address } = await (await post('lab', { notebook })).json();
            // Without an address it is a text, whose title says how to start JupyterLab.
            address ? link.href = address : link.removeAttribute('href');
            link.hidden = false;
        };
        const search = () => find().catch(() => { });
        search();
        window.addEventListener('focus', search);
    }
    return links;
}

// Waits for a cell that was started before the page was reloaded, and that still runs.
async function waitForEarlierCell() {
    const isBusy = async () => (await (await post('state')).json()).busy;
    if (!await isBusy()) {
        return;
    }
    showKernel(label('Running'));
    while (!isRunning && await isBusy()) {
        await new Promise(later => setTimeout(later, 1000));
    }
    isRunning || showKernel(label('Ready'));
}

// Reloads the page when the book was built again, after a notebook was saved.
async function followBuilds() {
    for (;;) {
        await new Promise(later => setTimeout(later, 1000));
        if (document.hidden || isRunning) {
            continue;
        }
        try {
            const response = await fetch('/_taper/build');
            if (!response.ok || await response.text() !== build) {
                response.ok && location.reload();
                return;
            }
        } catch {
            return; // the server has ended
        }
    }
}

let cells = [];
if (page) {
    cells = [...document.querySelectorAll('main .cell.code')].map((root, at) => new Cell(root, at + 1));
    if (cells.length) {
        addKernelBar();
        waitForEarlierCell();
    }
}
followBuilds();
})();
