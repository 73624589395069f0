"use strict";
// Values of the nearest mark under the pointer or a tap; the same configuration is marked everywhere.
(() => {
  const tip = document.getElementById("tip");
  const reach = 22;
  const marksOf = (svg) => [...svg.querySelectorAll("[data-id]")];
  // Titles are for readers without a script; with one they would be told twice.
  for (const title of document.querySelectorAll("svg [data-id] > title")) {
    title.parentNode.dataset.title = title.textContent;
    title.parentNode.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  const pick = (id) => {
    for (const element of document.querySelectorAll(".picked")) element.classList.remove("picked");
    if (!id) return;
    for (const element of document.querySelectorAll(`[data-id="${CSS.escape(id)}"]`)) {
      element.classList.add("picked");
    }
  };
  const show = (mark, x, y) => {
    tip.textContent = mark.dataset.title;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
    tip.style.top = `${y + 16 + box.height < innerHeight ? y + 16 : y - box.height - 12}px`;
    pick(mark.dataset.id);
  };
  const hide = () => {
    tip.hidden = true;
    pick(null);
  };
  for (const svg of document.querySelectorAll("svg[data-chart]")) {
    const near = (event) => {
      let best = null;
      let least = reach;
      for (const mark of marksOf(svg)) {
        const box = mark.getBoundingClientRect();
        const inside = mark.tagName === "rect" && event.clientX >= box.left && event.clientX <= box.right;
        const distance = inside
          ? reach - 1
          : Math.hypot(event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2);
        if (distance < least) [best, least] = [mark, distance];
      }
      if (best) show(best, event.clientX, event.clientY);
      else hide();
    };
    svg.addEventListener("pointermove", near);
    svg.addEventListener("pointerdown", near);
    svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
  }
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  // A click on a column sorts by it.
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const column = [...head.parentNode.children].indexOf(head);
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = head.closest("table").tBodies[0];
      const key = (row) => row.children[column].dataset.value;
      const order = (a, b) => (column === 0 ? key(a).localeCompare(key(b)) : key(a) - key(b));
      body.append(...[...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
    });
  }
  for (const row of document.querySelectorAll("tbody tr[data-id]")) {
    row.addEventListener("click", () => pick(row.dataset.id));
  }
})();
