// A box for drawing a digit, which the network of the chapter "Ship it" reads. Nothing is asked of the network.

for (const place of document.querySelectorAll('main .digit-reader')) {
    const script = document.createElement('script');
    script.src = `${path_to_root}digit-reader.wasm.js`;
    script.addEventListener('load', () => startReader(place));
    document.head.append(script);
}

async function startReader(place) {
    const { module, examples } = window.digitReader;
    const bytes = Uint8Array.from(atob(module), character => character.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes);
    const parts = readerParts(place);
    const pen = parts.box.getContext('2d', { willReadFrequently: true });
    Object.assign(pen, { lineWidth: 26, lineCap: 'round', lineJoin: 'round' });

    const read = () => showAnswer(parts, probabilities(parts.box, instance.exports));
    const clear = () => {
        pen.clearRect(0, 0, parts.box.width, parts.box.height);
        showAnswer(parts, null);
    };
    let example = 0;
    parts.clear.addEventListener('click', clear);
    parts.example.addEventListener('click', () => {
        clear();
        drawExample(pen, examples[example]);
        example = (example + 1) % examples.length;
        read();
    });
    followPointer(parts.box, pen, read);
    clear();
}

function readerParts(place) {
    const make = (name, attributes, ...content) => {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) {
            element.setAttribute(key, value);
        }
        element.append(...content);
        return element;
    };
    const box = make('canvas', { width: 256, height: 256, role: 'img', 'aria-label': label('Box for drawing a digit') });
    const answer = make('output', {});
    const bars = [...'0123456789'].map(digit => make('meter', { min: 0, max: 1, value: 0, 'aria-label': digit }));
    const rows = bars.map((bar, digit) => make('li', {}, `${digit} `, bar));
    const clear = make('button', { type: 'button' }, label('Clear'));
    const example = make('button', { type: 'button' }, label('Show an example'));
    const result = make('div', { class: 'digit-result' }, answer, make('ul', {}, ...rows), clear, ' ', example);
    place.replaceChildren(box, result);
    return { box, answer, bars, clear, example };
}

/// Draws while a button of the mouse, a pen or a finger is down; reads after each stroke.
function followPointer(box, pen, read) {
    let last = null;
    const position = event => {
        const frame = box.getBoundingClientRect();
        const scale = box.width / frame.width;
        return [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
    };
    const stroke = event => {
        const next = position(event);
        pen.beginPath();
        pen.moveTo(...last);
        pen.lineTo(...next);
        pen.stroke();
        last = next;
    };
    box.addEventListener('pointerdown', event => {
        if (event.button === 0) {
            box.setPointerCapture(event.pointerId);
            last = position(event);
            stroke(event);
        }
    });
    box.addEventListener('pointermove', event => last && stroke(event));
    for (const end of ['pointerup', 'pointercancel']) {
        box.addEventListener(end, () => {
            if (last) {
                read();
            }
            last = null;
        });
    }
}

/// Draws an image of 8 by 8 in hexadecimal digits.
function drawExample(pen, pixels) {
    const side = pen.canvas.width / 8;
    [...pixels].forEach((grey, i) => {
        pen.globalAlpha = parseInt(grey, 16) / 15;
        pen.fillRect((i % 8) * side, Math.floor(i / 8) * side, side, side);
    });
    pen.globalAlpha = 1;
}

/// Reduces the drawing to 64 by 64 and asks the network.
function probabilities(box, { memory, drawing, read_digit }) {
    const small = document.createElement('canvas');
    small.width = small.height = 64;
    const pen = small.getContext('2d');
    pen.imageSmoothingQuality = 'high';
    pen.drawImage(box, 0, 0, 64, 64);
    const rgba = pen.getImageData(0, 0, 64, 64).data;
    const ink = Float32Array.from({ length: 64 * 64 }, (_, i) => rgba[4 * i + 3] / 255);
    new Float32Array(memory.buffer, drawing(), 64 * 64).set(ink);
    const result = read_digit(); // may enlarge the memory, so the view comes after it
    return [...new Float32Array(memory.buffer, result, 10)];
}

function showAnswer({ answer, bars }, found) {
    bars.forEach((bar, digit) => { bar.value = found ? found[digit] : 0; });
    const digit = found && found.indexOf(Math.max(...found));
    answer.textContent = found
        ? label('This is a {digit} ({percent} %).').replace('{digit}', digit).replace('{percent}', Math.round(100 * found[digit]))
        : label('Draw a digit.');
}
