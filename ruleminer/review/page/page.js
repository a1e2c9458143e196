"use strict";
// The review: draws what the server tells and sends back what the user says. Every text becomes a text node, never markup.

const $ = id => document.getElementById(id);
const FACETS = [
  ["kind", "kind", [["class", "classes"], ["object", "links"], ["datatype", "values"]]],
  ["state", "state", [["proposed", "proposed"], ["guessed", "guessed"], ["nothing", "no rule"], ["yours", "yours"]]],
  ["trust", "sure", [["doubtful", "doubtful"], ["likely", "likely"], ["sure", "sure"]]],
  ["many", "in question", [["one", "1"], ["few", "2–3"], ["lots", "4+"]]],
  ["differs", "rankers", [["yes", "differ"], ["no", "agree"]]],
];
const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"].map(word => `The ${word}`);
const RELATIONS = { above: "above it", below: "below it", starts: "has", ends: "is had by", from: "starts at", to: "leads to", inverse: "inverse of" };
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/u;

let shown = null, tables = {}, busy = false, editing = false, list = [];
const picked = {};

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

// Text from outside: kept to its own direction, what cannot be seen made visible.
function say(text) {
  const value = String(text);
  if (/^[\x20-\x7e\n]*$/.test(value)) return document.createTextNode(value);
  const whole = el("bdi");
  let run = "";
  for (const character of value) {
    if (character === "\n" || character === "\t" || !UNSEEN.test(character)) { run += character; continue; }
    if (run) whole.append(run);
    run = "";
    const code = character.codePointAt(0);
    whole.append(el("bdi", { class: "unseen", "data-code": `U+${code.toString(16).toUpperCase().padStart(4, "0")}` }, code < 32 ? String.fromCodePoint(0x2400 + code) : character));
  }
  if (run) whole.append(run);
  return whole;
}

const count = number => number === null || number === undefined ? "–" : number.toLocaleString("en");
const share = value => value > 0.9994 && value < 1 ? "> 99.9 %" : value === 1 ? "100 %" : `${(value * 100).toFixed(value < 0.1 || value > 0.99 ? 1 : 0)} %`;
const pieces = parts => parts.map(([kind, text]) => kind ? el("span", { class: `t-${kind}` }, say(text)) : say(text));
const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");

async function ask(path, told) {
  const request = told === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(told) };
  let answer;
  for (let attempt = 0; ; attempt++) {
    try { answer = await fetch(path, { ...request, credentials: "same-origin" }); break; }
    catch { // the same id says it once, so what may have arrived is sent again
      if (attempt === 2) throw new Error("The review does not answer. Start it again; what you said is on disk.");
      await new Promise(done => setTimeout(done, 400 * (attempt + 1)));
    }
  }
  if (answer.status === 403) throw new Error("This page is of an earlier review. Open the address that the terminal shows now.");
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.problem || `The review answered ${answer.status}.`);
  return found;
}

async function act(work) {
  if (busy) return;
  busy = true;
  document.body.classList.add("busy");
  try { await work(); }
  catch (problem) { toast([problem.message], true); }
  finally { busy = false; document.body.classList.remove("busy"); }
}

function toast(lines, bad = false) {
  const [first, ...rest] = lines;
  const box = el("div", { class: bad ? "toast bad" : "toast" }, say(first), rest.length ? el("ul", {}, ...rest.slice(0, 6).map(line => el("li", {}, line instanceof Node ? line : say(line)))) : null);
  $("toasts").replaceChildren(box);
  setTimeout(() => box.remove(), bad ? 9000 : 5000);
}

const focusNow = () => shown && shown.focus;
const query = focus => focus ? `?focus=${encodeURIComponent(focus)}` : "";
const load = (focus = focusNow()) => act(async () => { draw(await ask(`api/screen${query(focus)}`)); });

function decide(told, focus = focusNow()) {
  const id = newId();
  return act(async () => {
    const answer = await ask("api/say", { id, focus, ...told });
    editing = false;
    draw(answer.screen);
    tellChanges(answer.changes, "Noted.");
  });
}

function tellChanges(changes, otherwise) {
  if (!changes.length) { toast([otherwise]); return; }
  const lines = changes.map(one => el("span", {}, el("b", {}, say(one.term)), " ", el("code", {}, say(one.after.map(text => text.split(" <- ")[1] ?? text).join("; ") || "no rule"))));
  toast([changes.length === 1 ? "One rule changed:" : `${changes.length} rules changed:`, ...lines]);
}

const undo = target => act(async () => {
  const answer = await ask("api/undo", { id: newId(), focus: focusNow(), target: target ?? (shown.said[0] && shown.said[0].id) });
  draw(answer.screen);
  if (answer.undone) tellChanges(answer.changes, `Taken back: ${answer.undone}`); else toast(["There is nothing to take back."]);
});

function draw(screen) {
  const before = shown && shown.term && shown.term.name;
  shown = screen;
  document.title = screen.title;
  $("title").replaceChildren(say(screen.title));
  const yours = screen.terms.filter(one => one.state === "yours").length;
  const doubtful = screen.terms.filter(one => one.trust === "doubtful").length;
  $("progress").textContent = `${yours} of ${screen.terms.length} terms decided by you · ${doubtful} doubtful · ${screen.said.length === 1 ? "1 decision" : `${count(screen.said.length)} decisions`}`;
  $("undo").disabled = !screen.said.length;
  drawList();
  if (!editing) {
    drawQuestion();
    drawTerm();
    if (before !== (screen.term && screen.term.name)) $("main").scrollTop = 0;
  }
}

// The list

const facetOf = {
  kind: one => one.kind === "either" ? "datatype" : one.kind,
  state: one => one.state,
  trust: one => one.state === "yours" ? "sure" : one.trust,
  many: one => one.hypotheses < 2 ? "one" : one.hypotheses < 4 ? "few" : "lots",
  differs: one => one.differs ? "yes" : "no",
};

function drawFacets() {
  $("facet-rows").replaceChildren(...FACETS.map(([key, title, values]) => el("div", { class: "facet", role: "group", "aria-label": title }, el("span", {}, title), el("div", {},
    ...values.map(([value, text]) => el("button", { type: "button", "aria-pressed": String(picked[key] === value), onclick: () => {
      picked[key] = picked[key] === value ? undefined : value;
      drawFacets();
      drawList();
    } }, text))))));
}

function drawList() {
  const wanted = $("find").value.trim().toLowerCase();
  list = shown.terms.filter(one => FACETS.every(([key]) => picked[key] === undefined || facetOf[key](one) === picked[key])
    && (!wanted || one.name.toLowerCase().includes(wanted) || one.label.toLowerCase().includes(wanted)));
  const current = shown.term && shown.term.name;
  $("count").textContent = list.length === shown.terms.length ? "least sure first" : `${list.length} of ${shown.terms.length} terms`;
  $("list").replaceChildren(...list.map(one => el("li", {}, el("button", { type: "button", "aria-current": String(one.name === current), onclick: () => open_(one.name) },
    el("span", { class: `dot b-${one.state === "yours" ? "yours" : one.trust}` }), el("span", { class: "name" }, say(one.name)),
    el("small", {}, one.state === "yours" ? one.word : one.state === "nothing" ? "no rule" : one.state === "guessed" ? `guessed, ${share(one.sure)}` : share(one.sure))))));
  const here = $("list").querySelector("[aria-current=true]");
  if (here) here.scrollIntoView({ block: "nearest" });
}

function open_(name) {
  document.body.classList.remove("terms-open");
  $("show-terms").setAttribute("aria-expanded", "false");
  editing = false;
  load(name);
}

function step(by) {
  if (!list.length) return;
  const place = list.findIndex(one => shown.term && one.name === shown.term.name);
  open_(list[Math.min(list.length - 1, Math.max(0, place < 0 ? 0 : place + by))].name);
}

function follow() {
  editing = false;
  act(async () => { draw(await ask("api/screen")); });
}

// The question

function factNode(term, fact) {
  const node = el("span", { class: "fact" }, say(term), "(");
  fact.forEach((cell, place) => {
    if (place) node.append(", ");
    node.append(say(clip(cell.value)), cell.name ? el("span", { class: "called" }, " “", say(clip(cell.name)), "”") : "");
  });
  node.append(")");
  return node;
}

const clip = (text, longest = 140) => text.length > longest ? `${text.slice(0, longest)}…` : text;

function behind(rows) {
  return el("div", { class: "behind" }, ...rows.map(row => el("figure", {}, el("figcaption", {}, say(row.table)),
    el("dl", { class: "cells" }, ...row.cells.map(cell => el("div", { class: [cell.marked ? "marked" : "", cell.value === null ? "null" : ""].join(" ").trim() || null },
      el("dt", {}, say(cell.column)), el("dd", {}, cell.value === null ? "empty" : say(clip(cell.value)))))))));
}

function answers() {
  const question = shown.question;
  if (!question) return [];
  const plain = option => option.fact.map(cell => cell.value);
  const all = question.options.map(plain);
  const said = (word, facts) => () => decide({ term: question.term, said: word, facts, named: question.named });
  if (!all.length) {
    return [["I know none", said("no example known")], ["There is none here", said("no rule")]];
  }
  if (question.options.length === 1) {
    return [["It holds", said("holds", all), "main"], ["It does not hold", said("does not hold", all)], ["Cannot be told", said("cannot be told", all)]];
  }
  if (question.named) { // which of the things that are called so
    return [...all.map((fact, place) => [ORDINALS[place], said("holds", [fact])]), ["None of them", () => load()]];
  }
  return [...all.map((fact, place) => [ORDINALS[place], said("holds", [fact])]),
    ["None of them", said("does not hold", all)], ["Cannot be told", said("cannot be told", all)]];
}

// A fact in the user's own words: the server reads it, and asks back where several things are called so.
function naming(question) {
  const field = label => el("input", { type: "text", "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false", maxlength: "500" });
  const labels = question.arity === 1 ? ["a key, a name, or table:key"] : ["of what: a key, a name, or table:key", question.kind === "datatype property" ? "the value" : "a key, a name, or table:key"];
  const fields = labels.map(field);
  return el("form", { class: "naming", onsubmit: event => {
    event.preventDefault();
    const texts = fields.map(one => one.value.trim()), id = newId();
    const empty = fields.find(one => !one.value.trim());
    if (empty) { empty.focus(); return; }
    act(async () => {
      const answer = await ask("api/name", { id, focus: focusNow(), term: question.term, texts });
      if (answer.choose) { shown.question = answer.choose; drawQuestion(); return; }
      draw(answer.screen);
      tellChanges(answer.changes, "Noted.");
    });
  } }, el("code", {}, say(question.term), "("), fields[0], fields[1] ? ", " : "", fields[1], el("code", {}, ")"), el("button", { type: "submit", class: question.options.length ? null : "main", id: "name-it" }, "holds"));
}

function drawQuestion() {
  const question = shown.question, place = $("question");
  if (!question) {
    const of = shown.focus ? el("span", {}, "Nothing more to ask of ", el("b", {}, say(shown.focus)), ": ") : el("span", {}, "No question is left that is worth asking: ");
    place.replaceChildren(el("div", { class: "card ask quiet" }, el("p", {}, of, say(shown.silence), "."),
      shown.focus ? el("button", { type: "button", onclick: follow, id: "follow" }, "Next question ", el("kbd", {}, "q")) : null));
    return;
  }
  const buttons = answers().map(([text, work, look], number) => el("button", { type: "button", class: look || null, onclick: work, "data-answer": String(number + 1) }, text, el("kbd", {}, String(number + 1))));
  const lead = el("p", { class: "lead" }, el("span", {}, shown.focus ? "A question on this term" : "The question that tells most"),
    el("span", { title: "how much the answer is expected to tell" }, `${question.information.toFixed(2)} bits`));
  const comment = question.comment ? el("p", { class: "comment" }, say(clip(question.comment, 280))) : null;
  if (!question.options.length) {
    place.replaceChildren(el("div", { class: "card ask" }, lead, el("h2", {}, "Can you name one ", el("span", { class: "fact" }, say(question.term)), "?"), comment, naming(question), el("div", { class: "answers" }, ...buttons)));
    return;
  }
  if (question.options.length === 1) {
    const [option] = question.options;
    place.replaceChildren(el("div", { class: "card ask" }, lead, el("h2", {}, "Does ", factNode(question.term, option.fact), " hold?"), comment, behind(option.rows), el("div", { class: "answers" }, ...buttons)));
    return;
  }
  const options = question.options.map((option, number) => el("li", { class: "option" }, buttons[number], el("div", {}, factNode(question.term, option.fact), behind(option.rows))));
  place.replaceChildren(el("div", { class: "card ask" }, lead, el("h2", {}, question.named ? "Which of these do you mean?" : "Which of these holds?"), comment, el("ul", { class: "options" }, ...options), el("div", { class: "answers" }, ...buttons.slice(options.length)),
    question.named ? null : el("details", {}, el("summary", {}, "Another one holds"), naming(question))));
}

// The term

function factTable(caption, rows, kind = "") {
  const heads = rows[0].length === 1 ? ["entity"] : ["subject", kind === "datatype property" ? "value" : "object"];
  return el("figure", { class: "box" }, el("figcaption", {}, caption), el("table", { class: "facts" }, el("thead", {}, el("tr", {}, ...heads.map(head => el("th", { scope: "col" }, head)))),
    el("tbody", {}, ...rows.map(row => el("tr", {}, ...row.map(cell => el("td", {}, el("span", { class: "clip" }, say(clip(cell.value, 240)), cell.name ? el("span", { class: "called" }, say(cell.name)) : ""))))))));
}

function tabs(panels) {
  const bar = el("div", { class: "tabs", role: "tablist" }), body = el("div", { class: "panel", role: "tabpanel", tabindex: "0" });
  panels.forEach(([title, make], number) => bar.append(el("button", { type: "button", role: "tab", "aria-selected": String(number === 0), onclick: event => {
    for (const other of bar.children) other.setAttribute("aria-selected", String(other === event.currentTarget));
    body.replaceChildren(make());
  } }, title)));
  body.append(panels[0][1]());
  return [bar, body];
}

const block = (title, ...content) => el("div", { class: "block" }, el("h3", {}, title), ...content);
const accept = () => shown.term && shown.term.text && decide({ term: shown.term.name, said: "accepted", text: shown.term.text });
const reject = () => shown.term && shown.term.text && decide({ term: shown.term.name, said: "rejected", text: shown.term.text });
const noRule = () => shown.term && decide({ term: shown.term.name, said: "no rule" });

function edit() {
  const one = shown.term;
  if (!one || editing) return;
  editing = true;
  const text = one.text || `${/^[A-Za-z_][\w-]*$/.test(one.name) ? one.name : JSON.stringify(one.name)}(${one.arity === 1 ? "x" : "x, y"}) <- `;
  const editor = makeEditor({
    term: one.name, text, tables, el, say, factTable: (caption, rows) => factTable(caption, rows, one.kind),
    check: typed => ask("api/check", { term: one.name, text: typed }),
    keep: typed => decide({ term: one.name, said: "edited", text: typed, about: one.text }),
    close: () => { editing = false; drawQuestion(); drawTerm(); },
  });
  $("editor-place").replaceChildren(editor.root);
  editor.focus();
}

function drawTerm() {
  const one = shown.term, place = $("term");
  if (!one) { place.replaceChildren(el("p", { class: "soft" }, "There is no term to show.")); return; }
  const listed = shown.terms.find(term => term.name === one.name);
  const has = one.rules.length > 0;
  const tag = one.word ? el("span", { class: "tag" }, one.word) : el("span", { class: `tag b-${listed.trust}` }, listed.trust === "nothing" ? "no rule" : listed.trust);
  const acts = el("div", { class: "acts" },
    has ? el("button", { type: "button", id: "accept", class: shown.question ? null : "main", onclick: accept }, "Accept ", el("kbd", {}, "a")) : null,
    has ? el("button", { type: "button", id: "reject", onclick: reject }, "Reject ", el("kbd", {}, "r")) : null,
    el("button", { type: "button", id: "edit", onclick: edit }, has ? "Edit " : "Write a rule ", el("kbd", {}, "e")),
    el("button", { type: "button", id: "no-rule", onclick: noRule }, "No rule here"));
  const card = el("div", { class: "card" }, el("header", {}, el("div", {}, el("h2", {}, say(one.name), " ", tag)), acts),
    el("p", { class: "soft iri" }, say(one.kind), one.label ? [" · ", one.label].join("") : "", " · ", el("span", {}, say(one.iri))),
    one.comment ? el("p", { class: "comment" }, say(clip(one.comment, 400))) : null,
    el("div", { id: "editor-place" }));
  if (one.reason && !one.word) card.append(el("p", {}, one.status === "guessed" ? "Guessed from names and structure: " : "Nothing proposed: ", say(one.reason), "."));
  for (const rule of one.rules) {
    card.append(el("div", { class: "chosen" }, el("p", { class: "words" }, say(rule.words)),
      ...tabs([["Rule", () => el("code", { class: "rule" }, ...pieces(rule.pieces))], ["SQL", () => el("pre", { class: "sql" }, ...pieces(rule.sql))], ["R2RML", () => el("pre", {}, say(one.r2rml))]]),
      el("p", { class: "verdict soft" }, say(`${rule.verdict} · derives ${count(rule.derives)} facts · found by ${rule.origin}`))));
  }
  if (has) {
    const tablesOf = [["Some of what it derives", one.sample], ["Examples it misses", one.missed], ["Derived, though they do not hold", one.hit]].filter(([, rows]) => rows.length);
    card.append(el("dl", { class: "strip" }, ...[["facts", count(one.derives)], ["examples", count(one.positives)], ["counter-examples", count(one.negatives)], ["believed", share(listed.sure)]].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
    if (tablesOf.length) card.append(el("div", { class: "pair" }, ...tablesOf.map(([caption, rows]) => factTable(caption, rows, one.kind))));
  }
  if (one.rivals.length) card.append(block("What else came into question", el("ol", { class: "rivals" }, ...one.rivals.map(rival => el("li", {},
    el("header", {}, el("div", {}, el("code", { class: "rule" }, ...pieces(rival.pieces)), el("p", {}, say(rival.verdict), el("span", { class: "soft" }, ` · ${share(rival.share)} · ${count(rival.derives)} facts`))),
      el("button", { type: "button", onclick: () => decide({ term: one.name, said: "pinned", text: rival.text }) }, "Take this one")),
    rival.more.length + rival.fewer.length === 0 ? el("p", { class: "soft" }, "derives the same facts") : el("div", { class: "pair" },
      rival.more.length ? factTable(has ? "It derives, the proposal does not" : "It derives", rival.more, one.kind) : null,
      rival.fewer.length ? factTable("The proposal derives, it does not", rival.fewer, one.kind) : null))))));
  if (one.neighbours.length) card.append(block("Around it in the ontology", el("ul", { class: "near" }, ...one.neighbours.map(near => el("li", {}, el("span", { class: "soft" }, RELATIONS[near.relation]),
    el("div", {}, el("button", { type: "button", class: "plain", onclick: () => open_(near.name) }, say(near.name)), ...near.rules.slice(0, 2).map(text => el("code", {}, say(text)))))))));
  if (one.said.length) card.append(block("What you said of it", el("ul", { class: "log" }, ...one.said.map(line => el("li", {}, el("span", {}, say(clip(line.told, 300))), el("button", { type: "button", onclick: () => undo(line.id) }, "take back"))))));
  if (shown.notes.length) card.append(block("Notes", el("ul", { class: "log" }, ...shown.notes.slice(0, 12).map(note => el("li", {}, say(note))))));
  place.replaceChildren(card);
}

// Keys and tools

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open || !shown) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const keys = {
    a: accept, r: reject, e: edit, j: () => step(1), k: () => step(-1), u: () => undo(), q: follow,
    "?": () => $("keys").showModal(), "/": () => { document.body.classList.add("terms-open"); $("find").focus(); },
    y: () => { if (shown.question && shown.question.options.length === 1) answers()[0][1](); },
    n: () => { const question = shown.question; if (question && question.options.length && !question.named) answers().at(-2)[1](); },
    "=": () => { const form = document.querySelector(".naming"); if (form) { if (form.parentNode.open === false) form.parentNode.open = true; form.querySelector("input").focus(); } },
  };
  const number = /^[1-9]$/.test(event.key) ? answers()[Number(event.key) - 1] : null;
  const work = number ? number[1] : keys[event.key];
  if (work && !busy) { event.preventDefault(); work(); }
});

$("find").addEventListener("input", drawList);
$("facets").addEventListener("submit", event => { event.preventDefault(); if (list.length) open_(list[0].name); });
$("undo").addEventListener("click", () => undo());
$("help").addEventListener("click", () => $("keys").showModal());
$("export").addEventListener("click", () => act(async () => {
  const told = await ask("api/export", {});
  toast([`Written to ${told.folder}`, told.files.join(", ")]);
}));
$("show-terms").addEventListener("click", () => {
  const open = document.body.classList.toggle("terms-open");
  $("show-terms").setAttribute("aria-expanded", String(open));
});

// Another tab may have said something: what is shown follows, unless a rule is being written.
setInterval(async () => {
  if (document.hidden || busy || editing || !shown) return;
  try { if ((await ask("api/version")).version !== shown.version) load(); } catch { /* told when something is said */ }
}, 4000);

drawFacets();
act(async () => {
  tables = (await ask("api/schema")).tables;
  draw(await ask("api/screen"));
  document.body.classList.add("ready");
});
