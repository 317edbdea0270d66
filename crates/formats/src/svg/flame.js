(function () {
  const root = document.getElementById("flame");
  const letter = +root.dataset.letter;
  const bars = Array.from(document.querySelectorAll("#bars > g"), (g) => ({
    g,
    x: +g.dataset.x,
    w: +g.dataset.w,
    name: g.dataset.n,
    title: g.querySelector("title").textContent,
    rect: g.querySelector("rect"),
    text: g.querySelector("text"),
  }));
  const details = document.getElementById("details");
  const found = document.getElementById("found");
  const reset = document.getElementById("reset");
  let view = { x: 0, w: 1 };

  function fit(name, px) {
    const room = Math.floor((px - 6) / letter);
    if (name.length <= room) return name;
    return room < 3 ? "" : name.slice(0, room - 1) + "…";
  }

  function place() {
    const width = Math.max(root.clientWidth || root.getBoundingClientRect().width, 100) - 24;
    const eps = 1e-9;
    for (const b of bars) {
      const around = b.x <= view.x + eps && b.x + b.w >= view.x + view.w - eps && b.w > view.w + eps;
      const x = around ? 0 : (b.x - view.x) / view.w;
      const w = around ? 1 : b.w / view.w;
      const visible = around || (x + w > eps && x < 1 - eps && w * width >= 0.4);
      b.g.setAttribute("display", visible ? "inline" : "none");
      b.g.classList.toggle("outside", around);
      if (!visible) continue;
      b.rect.setAttribute("x", x * width);
      b.rect.setAttribute("width", Math.max(w * width - 0.6, 0.4));
      b.text.setAttribute("x", x * width);
      b.text.textContent = fit(b.name, w * width);
    }
    reset.setAttribute("visibility", view.w < 1 ? "visible" : "hidden");
  }

  function search() {
    const asked = window.prompt("Mark frames that match this text or regular expression:", "");
    let test = null;
    if (asked) {
      try {
        const expression = new RegExp(asked);
        test = (text) => expression.test(text);
      } catch (_) {
        test = (text) => text.includes(asked);
      }
    }
    mark(test);
  }

  function mark(test) {
    // Frames inside of one that matches are part of it.
    const spans = [];
    for (const b of bars) {
      const matches = test !== null && test(b.title.slice(0, b.title.lastIndexOf(": ")));
      b.g.classList.toggle("found", matches);
      if (matches) spans.push([b.x, b.x + b.w]);
    }
    spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    let sum = 0;
    let end = 0;
    for (const [from, to] of spans) {
      sum += Math.max(0, to - Math.max(from, end));
      end = Math.max(end, to);
    }
    found.textContent = test === null ? " " : `matches ${(sum * 100).toFixed(1)}%`;
  }

  for (const b of bars) {
    b.g.addEventListener("click", () => {
      view = { x: b.x, w: b.w };
      place();
    });
    b.g.addEventListener("mouseenter", () => (details.textContent = b.title));
    b.g.addEventListener("mouseleave", () => (details.textContent = " "));
  }
  document.getElementById("search").addEventListener("click", search);
  found.addEventListener("click", () => mark(null));
  reset.addEventListener("click", () => {
    view = { x: 0, w: 1 };
    place();
  });
  window.addEventListener("resize", place);
  window.addEventListener("keydown", (event) => {
    if (event.key === "/") {
      event.preventDefault();
      search();
    } else if (event.key === "Escape") {
      mark(null);
      view = { x: 0, w: 1 };
      place();
    }
  });
  place();
})();
