"use strict";
// Without this script the report says the same; it only adds a filter and buttons that copy SQL.
(function () {
  const form = document.querySelector(".filter");
  const rows = Array.from(document.querySelectorAll(".review tbody tr"));
  const find = document.getElementById("find"), show = document.getElementById("show");
  const texts = rows.map(row => row.textContent.toLowerCase());
  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean), wanted = show.value;
    let shown = 0;
    rows.forEach((row, i) => {
      const fits = words.every(word => texts[i].includes(word)) &&
        (!wanted || (wanted === "differ" ? "differ" in row.dataset : row.dataset.trust === wanted));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    document.getElementById("shown").textContent = shown === rows.length ? "" : shown + " of " + rows.length;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  filter();

  document.addEventListener("toggle", event => {
    const box = event.target;
    if (!box.open || !box.matches("details.sql") || box.querySelector("button")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(box.querySelector("code"), button));
    box.append(button);
  }, true);

  function copy(code, button) {
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    const select = () => { getSelection().selectAllChildren(code); if (document.execCommand("copy")) done(); };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
    else select();
  }
})();
