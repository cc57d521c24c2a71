// What moves in a published page: the theme, sliders over frames that were computed before, and models.

const root = document.documentElement;
const themeButton = document.getElementById('theme');
const setTheme = dark => {
    root.dataset.theme = dark ? 'dark' : 'light';
    themeButton.textContent = dark ? 'Light' : 'Dark';
};
setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
themeButton.hidden = false;
themeButton.addEventListener('click', () => setTheme(root.dataset.theme === 'light'));

// A region that scrolls can be scrolled with the keyboard only if it can have the focus. Which do depends on the width of the
// window, on figures that have been loaded, and on what a slider shows.
function focusWhatScrolls() {
    for (const region of document.querySelectorAll('pre, pre code, .output, .picture, .table-wrapper, math')) {
        const scrolls = region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight;
        if (scrolls) {
            region.tabIndex = 0;
        } else {
            region.removeAttribute('tabindex');
        }
    }
}
focusWhatScrolls();
window.addEventListener('load', focusWhatScrolls);
window.addEventListener('resize', focusWhatScrolls);
document.addEventListener('input', () => setTimeout(focusWhatScrolls));

// The sections, below the title of a page that has several.
const sections = [...document.querySelectorAll('main h2[id]')];
if (sections.length > 2) {
    const contents = document.createElement('nav');
    contents.setAttribute('aria-label', 'Contents');
    for (const { id, textContent } of sections) {
        contents.append(Object.assign(document.createElement('a'), { href: `#${encodeURIComponent(id)}`, textContent }));
    }
    (document.querySelector('main h1') ?? themeButton).after(contents);
}

// Models.
const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

async function start(model) {
    const settings = JSON.parse(model.querySelector('script').textContent);
    const code = bytes(document.getElementById('model-code').textContent.trim());
    const { instance } = await WebAssembly.instantiate(code);
    const { memory, reserve, load, input, run, output } = instance.exports;
    const layers = bytes(settings.layers);
    const at = reserve(layers.length);
    new Uint8Array(memory.buffer).set(layers, at);
    if (!load()) {
        throw new Error('the model cannot be read');
    }
    const compute = values => {
        const to = input();
        new Float32Array(memory.buffer, to, values.length).set(values);
        const count = run();
        return [...new Float32Array(memory.buffer, output(), count)];
    };
    const results = Object.assign(document.createElement('ul'), { ariaLive: 'polite' });
    const show = values => results.replaceChildren(...lines(compute(values), settings.labels));
    const shape = settings.input;
    model.append(shape.length === 3 && (shape[0] === 1 || shape[0] === 3) ? image(shape, show) : fields(shape, show), results);
    model.taper = { compute };
}

// With labels the outputs are logits, and become probabilities; without they are shown as they are.
function lines(outputs, labels) {
    const isClasses = labels.length === outputs.length;
    const largest = Math.max(...outputs);
    const powers = outputs.map(value => Math.exp(value - largest));
    const sum = powers.reduce((sum, power) => sum + power, 0);
    return outputs.map((value, index) => {
        const line = document.createElement('li');
        if (isClasses) {
            const share = powers[index] / sum;
            const meter = Object.assign(document.createElement('meter'), { value: share, ariaLabel: labels[index] });
            line.append(meter, ` ${labels[index]}: ${(100 * share).toFixed(1)} %`);
            line.style.fontWeight = value === largest ? 'bold' : '';
        } else {
            line.textContent = value.toPrecision(5);
        }
        return line;
    });
}

function fields(shape, show) {
    const count = shape.reduce((product, size) => product * size, 1);
    const set = document.createElement('fieldset');
    const inputs = Array.from({ length: count }, (_, index) => {
        const field = Object.assign(document.createElement('input'), { type: 'number', step: 'any', value: 0 });
        const label = document.createElement('label');
        label.append(`input ${index} `, field);
        set.append(label);
        return field;
    });
    const update = () => show(inputs.map(field => Number(field.value)));
    set.addEventListener('input', update);
    update();
    return set;
}

// An image: drawn with the pointer, white on black, or read from a file.
function image([channels, height, width], show) {
    const canvas = Object.assign(document.createElement('canvas'), { width, height });
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `The input, ${width} by ${height} pixels; draw here`);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const update = () => {
        const { data } = context.getImageData(0, 0, width, height);
        const area = width * height;
        show(Float32Array.from({ length: channels * area }, (_, i) => data[4 * (i % area) + Math.floor(i / area)] / 255));
    };
    const clear = () => {
        context.fillStyle = '#000';
        context.fillRect(0, 0, width, height);
        update();
    };
    let last = null;
    const at = event => {
        const box = canvas.getBoundingClientRect();
        return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
    };
    const draw = event => {
        const here = at(event);
        context.strokeStyle = '#fff';
        context.lineWidth = Math.max(1, width / 12);
        context.lineCap = 'round';
        context.beginPath();
        context.moveTo(...(last ?? here));
        context.lineTo(...here);
        context.stroke();
        last = here;
        update();
    };
    canvas.addEventListener('pointerdown', event => {
        canvas.setPointerCapture(event.pointerId);
        draw(event);
    });
    canvas.addEventListener('pointermove', event => last && draw(event));
    for (const end of ['pointerup', 'pointercancel']) {
        canvas.addEventListener(end, () => { last = null; });
    }
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Clear' });
    button.addEventListener('click', clear);
    const file = Object.assign(document.createElement('input'), { type: 'file', accept: 'image/*' });
    file.addEventListener('change', async () => {
        if (file.files[0]) {
            context.drawImage(await createImageBitmap(file.files[0]), 0, 0, width, height);
            update();
        }
    });
    const label = document.createElement('label');
    label.append('or read an image: ', file);
    const set = document.createElement('fieldset');
    set.append(canvas, button, label);
    clear();
    return set;
}

for (const model of document.querySelectorAll('.model')) {
    start(model).catch(error => { model.append(`This browser cannot run the model: ${error.message}`); });
}
