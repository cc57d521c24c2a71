// What mdBook's pages lack for the keyboard and for those who hear them.

// A region that scrolls can be scrolled with the keyboard only if it can have the focus.
function focusWhatScrolls() {
    for (const region of document.querySelectorAll('main pre, main pre code, main .table-wrapper, main .output, main .katex-display')) {
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
for (const folded of document.querySelectorAll('main details')) {
    folded.addEventListener('toggle', focusWhatScrolls);
}

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

// Of mdBook's themes the book has two.
document.getElementById('mdbook-theme-navy').textContent = 'Dark';
