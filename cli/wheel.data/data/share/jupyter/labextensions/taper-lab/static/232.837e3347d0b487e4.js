"use strict";(self.rspackChunktaper_lab=self.rspackChunktaper_lab||[]).push([[232],{20(e,t,r){var a=r(21),n=r.n(a),o=r(22),i=(r.n(o))()(n());i.push([e.id,`/* Only JupyterLab's own colours, so that both themes are served. */

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

/* There the number of a cell is above its source. */
@media (max-width: 760px) {
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
`,""]),r.d(t,{},{A:i})},22(e){e.exports=function(e){var t=[];return t.toString=function(){return this.map(function(t){var r="",a=void 0!==t[5];return t[4]&&(r+="@supports (".concat(t[4],") {")),t[2]&&(r+="@media ".concat(t[2]," {")),a&&(r+="@layer".concat(t[5].length>0?" ".concat(t[5]):""," {")),r+=e(t),a&&(r+="}"),t[2]&&(r+="}"),t[4]&&(r+="}"),r}).join("")},t.i=function(e,r,a,n,o){"string"==typeof e&&(e=[[null,e,void 0]]);var i={};if(a)for(var p=0;p<this.length;p++){var l=this[p][0];null!=l&&(i[l]=!0)}for(var c=0;c<e.length;c++){var s=[].concat(e[c]);a&&i[s[0]]||(void 0!==o&&(void 0===s[5]||(s[1]="@layer".concat(s[5].length>0?" ".concat(s[5]):""," {").concat(s[1],"}")),s[5]=o),r&&(s[2]&&(s[1]="@media ".concat(s[2]," {").concat(s[1],"}")),s[2]=r),n&&(s[4]?(s[1]="@supports (".concat(s[4],") {").concat(s[1],"}"),s[4]=n):s[4]="".concat(n)),t.push(s))}},t}},21(e){e.exports=function(e){return e[1]}},14(e){var t=[];function r(e){for(var r=-1,a=0;a<t.length;a++)if(t[a].identifier===e){r=a;break}return r}function a(e,a){for(var n={},o=[],i=0;i<e.length;i++){var p=e[i],l=a.base?p[0]+a.base:p[0],c=n[l]||0,s="".concat(l," ").concat(c);n[l]=c+1;var u=r(s),d={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==u)t[u].references++,t[u].updater(d);else{var f=function(e,t){var r=t.domAPI(t);return r.update(e),function(t){t?(t.css!==e.css||t.media!==e.media||t.sourceMap!==e.sourceMap||t.supports!==e.supports||t.layer!==e.layer)&&r.update(e=t):r.remove()}}(d,a);a.byIndex=i,t.splice(i,0,{identifier:s,updater:f,references:1})}o.push(s)}return o}e.exports=function(e,n){var o=a(e=e||[],n=n||{});return function(e){e=e||[];for(var i=0;i<o.length;i++){var p=r(o[i]);t[p].references--}for(var l=a(e,n),c=0;c<o.length;c++){var s=r(o[c]);0===t[s].references&&(t[s].updater(),t.splice(s,1))}o=l}}},16(e){var t={};e.exports=function(e,r){var a=function(e){if(void 0===t[e]){var r=document.querySelector(e);if(window.HTMLIFrameElement&&r instanceof window.HTMLIFrameElement)try{r=r.contentDocument.head}catch(e){r=null}t[e]=r}return t[e]}(e);if(!a)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");a.appendChild(r)}},18(e){e.exports=function(e){var t=document.createElement("style");return e.setAttributes(t,e.attributes),e.insert(t,e.options),t}},17(e,t,r){e.exports=function(e){var t=r.nc;t&&e.setAttribute("nonce",t)}},15(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var t=e.insertStyleElement(e);return{update:function(r){var a,n,o;a="",r.supports&&(a+="@supports (".concat(r.supports,") {")),r.media&&(a+="@media ".concat(r.media," {")),(n=void 0!==r.layer)&&(a+="@layer".concat(r.layer.length>0?" ".concat(r.layer):""," {")),a+=r.css,n&&(a+="}"),r.media&&(a+="}"),r.supports&&(a+="}"),(o=r.sourceMap)&&"u">typeof btoa&&(a+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(o))))," */")),e.styleTagTransform(a,t,e.options)},remove:function(){var e;null===(e=t).parentNode||e.parentNode.removeChild(e)}}}},19(e){e.exports=function(e,t){if(t.styleSheet)t.styleSheet.cssText=e;else{for(;t.firstChild;)t.removeChild(t.firstChild);t.appendChild(document.createTextNode(e))}}},13(e,t,r){var a=r(14),n=r.n(a),o=r(15),i=r.n(o),p=r(16),l=r.n(p),c=r(17),s=r.n(c),u=r(18),d=r.n(u),f=r(19),h=r.n(f),v=r(20),m={};m.styleTagTransform=h(),m.setAttributes=s(),m.insert=l().bind(null,"head"),m.domAPI=i(),m.insertStyleElement=d(),n()(v.A,m),v.A&&v.A.locals&&v.A.locals}}]);