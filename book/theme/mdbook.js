// What mdBook's own parts of a page lack: its words in other languages, its buttons for the keyboard, and a search that
// knows names and Chinese. `labels.js` comes before, with the words and the languages of the book. What this script needs
// of mdBook is in the table of tests/slow/book/needed.rs.

// Returns a word of the book in the language of the page.
function label(english) {
    return taperLabels[english] ?? english;
}

// Of mdBook's themes the book has two.
document.getElementById('mdbook-theme-navy').textContent = label('Dark');

for (const element of document.querySelectorAll('body *')) {
    if (element.closest('main') && !element.matches('.clip-button')) {
        continue;
    }
    for (const name of ['title', 'aria-label', 'placeholder']) {
        if (element.hasAttribute(name)) {
            element.setAttribute(name, label(element.getAttribute(name)));
        }
    }
    const text = taperLabels[element.innerHTML];
    if (text) {
        element.innerHTML = text;
    }
}

// mdBook writes whether a copy has succeeded, before this listener is called.
document.addEventListener('click', ({ target }) => {
    const note = target.closest('.clip-button')?.firstChild;
    if (note?.innerText) {
        note.innerText = label(note.innerText);
    }
});

// The button of the sidebar is a label, which the keyboard does not reach.
const sidebarButton = document.getElementById('mdbook-sidebar-toggle');
sidebarButton.tabIndex = 0;
sidebarButton.setAttribute('role', 'button');
sidebarButton.addEventListener('keydown', event => {
    if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        sidebarButton.click();
    }
});

// The whole book has a million pixels: the button prints this page.
const printButton = document.querySelector('#mdbook-menu-bar a[href$="print.html"]');
printButton.title = label('Print this page');
printButton.setAttribute('aria-label', printButton.title);
printButton.addEventListener('click', event => {
    event.preventDefault();
    print();
});

// ---------------------------------------------------------------- The search

// mdBook's search listens for keys. An input method and the menu's *Paste* write text without one.
const searchbar = document.getElementById('mdbook-searchbar');
searchbar.addEventListener('input', () => searchbar.dispatchEvent(new KeyboardEvent('keyup')));

const found = document.getElementById('mdbook-searchresults-header');
new MutationObserver(() => {
    const [, count, text, words, end] = /^(\w+) (search results? for) '(.*)'([:.])$/.exec(found.textContent) ?? [];
    const english = `${count === 'No' ? count : '{count}'} ${text} '{words}'${end}`;
    if (english in taperLabels) {
        found.textContent = label(english).replace('{count}', count).replace('{words}', () => words);
    }
}).observe(found, { childList: true });

// Words, and the parts of names: EarlyStopping is also "early" and "stopping", try_gpu also "try" and "gpu". Chinese has no
// spaces between words: its words are all pairs of neighbouring characters.
elasticlunr.tokenizer = text => {
    const names = String(text ?? '').match(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+/gu) ?? [];
    return names.flatMap(name => {
        if (/\p{Script=Han}/u.test(name)) {
            const letters = [...name];
            return letters.length === 1 ? letters : letters.slice(1).map((letter, at) => letters[at] + letter);
        }
        const parts = name.split(/_+|(?<=\p{Ll})(?=\p{Lu})/u).filter(part => part);
        return [...new Set([name, ...parts].map(word => word.toLowerCase()))];
    });
};

// The index of all sections, made when the search is opened: those that mdBook has stored, and those of the notebooks.
elasticlunr.Index.load = ({ documentStore }) => {
    const index = elasticlunr(function () {
        this.setRef('id');
        // It removes letters that are not Latin; the words are clean already.
        this.pipeline.remove(elasticlunr.trimmer);
        ['title', 'body', 'breadcrumbs'].forEach(field => this.addField(field));
    });
    const { doc_urls: urls, sections } = window.search;
    const more = sections.map(({ url, ...section }) => ({ id: String(urls.push(url) - 1), ...section }));
    for (const section of Object.values(documentStore.docs).concat(more)) {
        // mdBook writes this field into the page as it is.
        index.addDoc({ ...section, breadcrumbs: section.breadcrumbs.replaceAll('&', '&amp;').replaceAll('<', '&lt;') });
    }
    // If no section has all words, those that have some are found.
    const search = index.search;
    index.search = (query, options) => {
        const sections = search.call(index, query, options);
        return sections.length ? sections : search.call(index, query, { ...options, bool: 'OR' });
    };
    return index;
};
