"use strict";(self.rspackChunktaper_lab=self.rspackChunktaper_lab||[]).push([[530],{21(e,t,r){var a=r(22),o=r.n(a),n=r(23),i=(r.n(n))()(o());i.push([e.id,`/* Only JupyterLab's own colours, so that both themes are served. */

/* A stale cell: a mark in place of nothing, and a line with the reason below the source. */
.taper-mod-stale > .jp-Cell-inputWrapper .jp-InputPrompt::before {
  content: '';
  display: inline-block;
  width: 6px;
  height: 6px;
  margin-right: 4px;
  border-radius: 50%;
  vertical-align: middle;
  background: var(--jp-warn-color1);
}

.taper-StaleNote {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0 8px;
  padding: 1px 0 1px
    calc(var(--jp-cell-prompt-width) + var(--jp-cell-collapser-width) + var(--jp-cell-padding));
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size0);
  line-height: 1.6;
}

.taper-StaleNote code {
  font-family: var(--jp-code-font-family);
  font-size: inherit;
}

.taper-StaleNote button {
  padding: 0 2px;
  border: none;
  background: none;
  color: var(--jp-content-link-color);
  font: inherit;
  cursor: pointer;
}

.taper-StaleNote button:hover {
  text-decoration: underline;
}

.taper-StaleNote button:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

/* A cell that is compiled: a word below its prompt, but not for what is compiled at once. */
.taper-mod-compiling > .jp-Cell-inputWrapper .jp-InputPrompt::after {
  content: 'compiling';
  display: block;
  height: 0;
  overflow: visible;
  color: var(--jp-ui-font-color2);
  font-family: var(--jp-ui-font-family);
  font-size: 10px;
  line-height: 1;
  animation: taper-appear 0.3s 0.4s both;
}

@keyframes taper-appear {
  from {
    opacity: 0;
  }
}

/* What a line took, at the right edge of what is seen of the source, however long the line is. */
.cm-line[data-taper-profile]::before {
  content: attr(data-taper-profile);
  position: absolute;
  right: 0;
  padding: 0 4px 0 8px;
  border-radius: var(--jp-border-radius);
  color: var(--jp-ui-font-color1);
  background: linear-gradient(
      to left,
      color-mix(in srgb, var(--jp-warn-color1) 25%, transparent) var(--taper-part),
      transparent var(--taper-part)
    ),
    var(--jp-cell-editor-background);
  font-size: 0.85em;
  font-variant-numeric: tabular-nums;
  pointer-events: none;
}

/* The kernel has variables for the panel of the debugger, and no breakpoints. */
.taper-mod-rust .cm-breakpoint-gutter {
  display: none !important;
}

.taper-mod-current .jp-DebuggerBreakpoints-body::before {
  content: 'Taper has no breakpoints. This panel shows the variables.';
  display: block;
  padding: 8px 12px;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
  white-space: normal;
}

/* JupyterLab would break a line in the middle of a word. */
.taper-mod-rust .jp-OutputArea-output pre {
  word-break: normal;
  overflow-wrap: anywhere;
}

/* A figure is not cut off, however narrow the window is. */
.taper-mod-rust .jp-RenderedSVG img {
  max-width: 100%;
  height: auto;
}

.taper-Help {
  max-width: 760px;
  overflow: auto;
}

/* There the number of a cell is above its source. A table of text is scrolled, its lines are not broken. */
@media (max-width: 760px) {
  .taper-mod-rust .jp-OutputArea-output[data-mime-type='text/plain'] pre {
    white-space: pre;
    overflow-x: auto;
  }

  .taper-StaleNote {
    padding-left: calc(var(--jp-cell-collapser-width) + var(--jp-cell-padding));
  }

  .cm-line[data-taper-profile]::before {
    content: attr(data-taper-time);
  }
}

@media print {
  .taper-StaleNote button {
    display: none;
  }
}

.taper-Status {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
`,""]),r.d(t,{},{A:i})},24(e,t,r){var a=r(22),o=r.n(a),n=r(23),i=(r.n(n))()(o());i.push([e.id,`/* Colours of terminal output in notebooks in Rust, which can be read on JupyterLab's backgrounds and on those of errors.
   JupyterLab has one set of colours for both themes: its red and blue have 2.1:1 and 2.4:1 in a dark error. */

body[data-jp-theme-light="true"] {
    --taper-red: #b22b31;
    --taper-green: #00661f;
    --taper-yellow: #755000;
    --taper-blue: #0057b0;
    --taper-magenta: #902a87;
    --taper-cyan: #00646b;
    --taper-black: #282c36;
    --taper-white: #595d66;
}

body[data-jp-theme-light="false"] {
    --taper-red: #ff9d94;
    --taper-green: #7fd88b;
    --taper-yellow: #e8c468;
    --taper-blue: #8cbcff;
    --taper-magenta: #eda2e2;
    --taper-cyan: #7fd6dc;
    --taper-black: #b4b4b4;
    --taper-white: #d0d0d0;
}

/* With \`body\`, these selectors come before JupyterLab's own. */
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-red-fg, .ansi-red-intense-fg) { color: var(--taper-red); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-green-fg, .ansi-green-intense-fg) { color: var(--taper-green); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-yellow-fg, .ansi-yellow-intense-fg) { color: var(--taper-yellow); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-blue-fg, .ansi-blue-intense-fg) { color: var(--taper-blue); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-magenta-fg, .ansi-magenta-intense-fg) { color: var(--taper-magenta); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-cyan-fg, .ansi-cyan-intense-fg) { color: var(--taper-cyan); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-black-fg, .ansi-black-intense-fg) { color: var(--taper-black); }
body .taper-mod-rust .jp-RenderedText pre :is(.ansi-white-fg, .ansi-white-intense-fg) { color: var(--taper-white); }
`,""]),r.d(t,{},{A:i})},23(e){e.exports=function(e){var t=[];return t.toString=function(){return this.map(function(t){var r="",a=void 0!==t[5];return t[4]&&(r+="@supports (".concat(t[4],") {")),t[2]&&(r+="@media ".concat(t[2]," {")),a&&(r+="@layer".concat(t[5].length>0?" ".concat(t[5]):""," {")),r+=e(t),a&&(r+="}"),t[2]&&(r+="}"),t[4]&&(r+="}"),r}).join("")},t.i=function(e,r,a,o,n){"string"==typeof e&&(e=[[null,e,void 0]]);var i={};if(a)for(var p=0;p<this.length;p++){var s=this[p][0];null!=s&&(i[s]=!0)}for(var l=0;l<e.length;l++){var c=[].concat(e[l]);a&&i[c[0]]||(void 0!==n&&(void 0===c[5]||(c[1]="@layer".concat(c[5].length>0?" ".concat(c[5]):""," {").concat(c[1],"}")),c[5]=n),r&&(c[2]&&(c[1]="@media ".concat(c[2]," {").concat(c[1],"}")),c[2]=r),o&&(c[4]?(c[1]="@supports (".concat(c[4],") {").concat(c[1],"}"),c[4]=o):c[4]="".concat(o)),t.push(c))}},t}},22(e){e.exports=function(e){return e[1]}},15(e){var t=[];function r(e){for(var r=-1,a=0;a<t.length;a++)if(t[a].identifier===e){r=a;break}return r}function a(e,a){for(var o={},n=[],i=0;i<e.length;i++){var p=e[i],s=a.base?p[0]+a.base:p[0],l=o[s]||0,c="".concat(s," ").concat(l);o[s]=l+1;var d=r(c),u={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==d)t[d].references++,t[d].updater(u);else{var f=function(e,t){var r=t.domAPI(t);return r.update(e),function(t){t?(t.css!==e.css||t.media!==e.media||t.sourceMap!==e.sourceMap||t.supports!==e.supports||t.layer!==e.layer)&&r.update(e=t):r.remove()}}(u,a);a.byIndex=i,t.splice(i,0,{identifier:c,updater:f,references:1})}n.push(c)}return n}e.exports=function(e,o){var n=a(e=e||[],o=o||{});return function(e){e=e||[];for(var i=0;i<n.length;i++){var p=r(n[i]);t[p].references--}for(var s=a(e,o),l=0;l<n.length;l++){var c=r(n[l]);0===t[c].references&&(t[c].updater(),t.splice(c,1))}n=s}}},17(e){var t={};e.exports=function(e,r){var a=function(e){if(void 0===t[e]){var r=document.querySelector(e);if(window.HTMLIFrameElement&&r instanceof window.HTMLIFrameElement)try{r=r.contentDocument.head}catch(e){r=null}t[e]=r}return t[e]}(e);if(!a)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");a.appendChild(r)}},19(e){e.exports=function(e){var t=document.createElement("style");return e.setAttributes(t,e.attributes),e.insert(t,e.options),t}},18(e,t,r){e.exports=function(e){var t=r.nc;t&&e.setAttribute("nonce",t)}},16(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var t=e.insertStyleElement(e);return{update:function(r){var a,o,n;a="",r.supports&&(a+="@supports (".concat(r.supports,") {")),r.media&&(a+="@media ".concat(r.media," {")),(o=void 0!==r.layer)&&(a+="@layer".concat(r.layer.length>0?" ".concat(r.layer):""," {")),a+=r.css,o&&(a+="}"),r.media&&(a+="}"),r.supports&&(a+="}"),(n=r.sourceMap)&&"u">typeof btoa&&(a+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(n))))," */")),e.styleTagTransform(a,t,e.options)},remove:function(){var e;null===(e=t).parentNode||e.parentNode.removeChild(e)}}}},20(e){e.exports=function(e,t){if(t.styleSheet)t.styleSheet.cssText=e;else{for(;t.firstChild;)t.removeChild(t.firstChild);t.appendChild(document.createTextNode(e))}}},14(e,t,r){var a=r(15),o=r.n(a),n=r(16),i=r.n(n),p=r(17),s=r.n(p),l=r(18),c=r.n(l),d=r(19),u=r.n(d),f=r(20),h=r.n(f),b=r(21),m={};m.styleTagTransform=h(),m.setAttributes=c(),m.insert=s().bind(null,"head"),m.domAPI=i(),m.insertStyleElement=u(),o()(b.A,m),b.A&&b.A.locals&&b.A.locals;var v=r(24),g={};g.styleTagTransform=h(),g.setAttributes=c(),g.insert=s().bind(null,"head"),g.domAPI=i(),g.insertStyleElement=u(),o()(v.A,g),v.A&&v.A.locals&&v.A.locals}}]);