
// mdBook's searcher.js loads this script when the search is opened for the first time, and then calls Index.load.
(() => {
'use strict';

// Words, and the parts of names: EarlyStopping is also "early" and "stopping", try_gpu also "try" and "gpu".
elasticlunr.tokenizer = text => {
    const names = String(text ?? '').match(/[\p{L}\p{N}_]+/gu) ?? [];
    return names.flatMap(name => {
        const parts = name.split(/_+|(?<=\p{Ll})(?=\p{Lu})/u).filter(part => part);
        return new Set([name, ...parts].map(word => word.toLowerCase())).values().toArray();
    });
};

const index = elasticlunr(function () {
    this.setRef('id');
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
