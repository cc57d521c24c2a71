// What the pages of the book do besides what mdBook does: outputs of several machines, sliders and languages.

// A region that scrolls can be scrolled with the keyboard only if it can have the focus.
function focusWhatScrolls() {
    for (const region of document.querySelectorAll('main pre, main pre code:not([role=textbox]), main .table-wrapper, main .output, main .outputs, main .picture, main .katex-display')) {
        const scrolls = region.scrollWidth > region.clientWidth + 1 || region.scrollHeight > region.clientHeight + 1;
        if (scrolls && getComputedStyle(region).overflowX !== 'visible') {
            region.tabIndex = 0;
        } else {
            region.removeAttribute('tabindex');
        }
    }
}
focusWhatScrolls();
window.addEventListener('resize', focusWhatScrolls);
document.addEventListener('input', () => setTimeout(focusWhatScrolls));
for (const folded of document.querySelectorAll('main details')) {
    folded.addEventListener('toggle', focusWhatScrolls);
}

// What a cell shows on several machines becomes tabs. A choice counts for the whole book.
const machineKey = 'taper-machine';
const machineGroups = [...document.querySelectorAll('main .machines')].map(machineTabs);

function machineTabs(group, number) {
    const list = document.createElement('div');
    list.className = 'machine-tabs';
    list.setAttribute('role', 'tablist');
    list.setAttribute('aria-label', label('Machine'));
    const tabs = [...group.children].map((panel, index) => {
        const tab = document.createElement('button');
        tab.type = 'button';
        tab.textContent = panel.getAttribute('aria-label');
        tab.setAttribute('role', 'tab');
        panel.setAttribute('role', 'tabpanel');
        panel.id = `machine-${number}-${index}`;
        tab.setAttribute('aria-controls', panel.id);
        tab.addEventListener('click', () => chooseMachine(tab.textContent));
        list.append(tab);
        return { tab, panel };
    });
    list.addEventListener('keydown', event => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step) {
            event.stopPropagation(); // mdBook would turn the page
            const here = tabs.findIndex(({ tab }) => tab === document.activeElement);
            const next = tabs[(here + step + tabs.length) % tabs.length].tab;
            chooseMachine(next.textContent);
            next.focus();
        }
    });
    group.classList.add('tabbed');
    group.prepend(list);
    return tabs;
}

function showMachine(name) {
    for (const tabs of machineGroups) {
        const chosen = tabs.find(({ tab }) => tab.textContent === name) ?? tabs[0];
        for (const { tab, panel } of tabs) {
            const isChosen = tab === chosen.tab;
            tab.setAttribute('aria-selected', isChosen);
            tab.tabIndex = isChosen ? 0 : -1;
            panel.hidden = !isChosen;
        }
    }
    focusWhatScrolls();
}

function chooseMachine(name) {
    remember(machineKey, name);
    showMachine(name);
}

function remember(key, choice) {
    try {
        localStorage.setItem(key, choice);
    } catch { /* kept for this page only */ }
}

function remembered(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}
showMachine(remembered(machineKey));

// The digit reader is on one page only.
if (document.querySelector('main .digit-reader')) {
    document.head.append(Object.assign(document.createElement('script'), { src: `${path_to_root}digit-reader.js` }));
}

// Returns the path of this page from the folder of all pages.
function pageName() {
    const root = new URL(path_to_root || '.', location.href).pathname;
    return location.pathname.slice(root.length);
}

// The languages of the page: a menu that stays on the page, and a reader's choice that counts for the whole book.
const languageKey = 'taper-language';
const placeKey = 'taper-place';
const blocks = [...document.querySelectorAll('main > *')];
const editions = taperLanguages.map(([hreflang, folder]) => Object.assign(document.createElement('link'), {
    rel: 'alternate', hreflang, href: new URL(`${path_to_root}${folder}${pageName()}`, location.href).href,
}));
document.head.append(...editions);
if (editions.length) {
    const menu = document.createElement('select');
    menu.className = 'languages';
    menu.setAttribute('aria-label', label('Language'));
    for (const { hreflang, href } of editions) {
        const name = new Intl.DisplayNames([hreflang], { type: 'language' }).of(hreflang);
        menu.add(new Option(name[0].toUpperCase() + name.slice(1), href, false, hreflang === document.documentElement.lang));
        menu.options[menu.length - 1].lang = hreflang;
    }
    menu.addEventListener('change', () => {
        remember(languageKey, menu.selectedOptions[0].lang);
        // The pages have the same paragraphs, whose ids differ.
        sessionStorage.setItem(placeKey, blocks.findIndex(block => block.getBoundingClientRect().bottom > 60));
        location.href = menu.value;
    });
    document.querySelector('#mdbook-menu-bar .right-buttons').prepend(menu);
    const place = sessionStorage.getItem(placeKey);
    sessionStorage.removeItem(placeKey);
    if (place > 0) blocks[place]?.scrollIntoView();
    // The book's first page is shown in the language that was chosen last. A link to any other page opens that page.
    const chosen = editions.find(({ hreflang }) => hreflang === remembered(languageKey));
    const isFirst = document.documentElement.lang === 'en' && /\/(index\.html)?$/.test(location.pathname);
    if (chosen && isFirst && chosen.hreflang !== 'en' && !document.referrer.startsWith(location.origin)) {
        location.replace(chosen.href + location.hash);
    }
}
