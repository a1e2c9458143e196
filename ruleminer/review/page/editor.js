"use strict";
// The editor of a rule: a text field with completion of tables and columns, checked as it is typed.

function makeEditor({ term, text, tables, check, keep, close, el, say, factTable }) {
  const area = el("textarea", { spellcheck: "false", "aria-label": `Rule for ${term}`, id: "rule-text" });
  area.value = text;
  const verdict = el("p", { class: "verdict", role: "status", id: "rule-verdict" });
  const found = el("div");
  const offers = el("ul", { class: "offers", role: "listbox", hidden: "" });
  const keepIt = el("button", { type: "button", class: "main", id: "keep" }, "Keep this rule ", el("kbd", {}, "Ctrl ↵"));
  const root = el("div", { class: "editor" }, area, offers, verdict, found,
    el("div", { class: "answers" }, keepIt, el("button", { type: "button", onclick: close }, "Cancel")));
  let timer = 0, turn = 0, choice = 0, words = [], good = false;
  keepIt.disabled = true;

  async function look() {
    const own = ++turn;
    let told;
    try { told = await check(area.value); } catch (problem) { told = { problems: [{ message: problem.message, line: 0, column: 0 }] }; }
    if (own !== turn) return; // more was typed since
    good = told.problems.length === 0;
    area.setAttribute("aria-invalid", String(!good));
    keepIt.disabled = !good;
    verdict.replaceChildren();
    found.replaceChildren();
    verdict.className = good ? "verdict good" : "verdict bad";
    if (good) {
      verdict.append(say(`${told.words.join(" ")} It derives ${told.derives.toLocaleString("en")} facts.`));
      if (told.sample.length) found.append(factTable("Some of them", told.sample.map(row => row.map(value => ({ value })))));
    } else {
      const { message, line, column } = told.problems[0];
      verdict.append(line ? `Line ${line}, column ${column}: ` : "", say(message));
    }
  }

  // What stands before the caret: a table's name, or a column's inside the brackets of a table.
  function context() {
    const before = area.value.slice(0, area.selectionStart);
    const behind = before.lastIndexOf("<-");
    if (behind < 0) return null;
    const body = before.slice(behind + 2);
    const open = /(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_][\w-]*))\s*\(([^()]*)$/.exec(body);
    const word = /[\w-]*$/.exec(before)[0];
    const last = before.slice(0, before.length - word.length).trimEnd().slice(-1);
    if (open) {
      if (last !== "(" && last !== ",") return null;
      const columns = tables[open[1] ?? open[2]] || [];
      const used = new Set([...open[3].matchAll(/([\w-]+)\s*:/g)].map(match => match[1]));
      return { word, names: columns.filter(name => !used.has(name)), after: ": " };
    }
    return last === "-" || last === "," ? { word, names: Object.keys(tables), after: "(" } : null;
  }

  function offer() {
    const at = context();
    const wanted = at ? at.word.toLowerCase() : "";
    const near = at ? at.names.filter(name => name.toLowerCase().includes(wanted)) : [];
    near.sort((a, b) => (b.toLowerCase().startsWith(wanted) - a.toLowerCase().startsWith(wanted)) || a.localeCompare(b));
    words = near.slice(0, 12);
    if (!at || !words.length || (words.length === 1 && words[0] === at.word)) { hide(); return; }
    choice = 0;
    offers.replaceChildren(...words.map((name, place) =>
      el("li", { role: "option", "aria-selected": String(place === 0), onmousedown: event => { event.preventDefault(); take(place); } }, say(name))));
    offers.hidden = false;
    offers.style.top = `${area.offsetHeight}px`;
  }

  function hide() { offers.hidden = true; words = []; }

  function take(place) {
    const at = context();
    if (!at) return hide();
    const name = words[place];
    const written = (/^[A-Za-z_][\w-]*$/.test(name) ? name : JSON.stringify(name)) + at.after;
    const end = area.selectionStart, start = end - at.word.length;
    area.setRangeText(written, start, end, "end");
    hide();
    typed();
  }

  function typed() {
    keepIt.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(look, 220);
    offer();
  }

  function choose(place) {
    choice = (place + words.length) % words.length;
    [...offers.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === choice)));
    offers.children[choice].scrollIntoView({ block: "nearest" });
  }

  area.addEventListener("input", typed);
  area.addEventListener("blur", () => setTimeout(hide, 120));
  area.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (good && !keepIt.disabled) keep(area.value);
    } else if (!offers.hidden && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      choose(choice + (event.key === "ArrowDown" ? 1 : -1));
    } else if (!offers.hidden && ["Tab", "Enter"].includes(event.key)) {
      event.preventDefault();
      take(choice);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (offers.hidden) close(); else hide();
    }
    event.stopPropagation();
  });
  keepIt.addEventListener("click", () => keep(area.value));
  look();
  return { root, focus() { area.focus(); area.setSelectionRange(area.value.length, area.value.length); } };
}
