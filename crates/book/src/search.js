
// mdBook's searcher.js loads this script when the search is opened for the first time, and then calls Index.load.
(() => {
'use strict';

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
        return new Set([name, ...parts].map(word => word.toLowerCase())).values().toArray();
    });
};

const index = elasticlunr(function () {
    this.setRef('id');
    // It removes letters that are not Latin; the words are clean already.
    this.pipeline.remove(elasticlunr.trimmer);
    ['title', 'body', 'breadcrumbs'].forEach(field => this.addField(field));
});
taperTexts.forEach(([, title, body, breadcrumbs], id) => index.addDoc({ id: String(id), title, body, breadcrumbs }));

// If no section has all words, those that have some are found.
const search = index.search;
index.search = (query, options) => {
    const found = search.call(index, query, options);
    return found.length ? found : search.call(index, query, { ...options, bool: 'OR' });
};

elasticlunr.Index.load = () => index;
Object.assign(window.search, taperOptions, { doc_urls: taperTexts.map(([url]) => url) });
})();
