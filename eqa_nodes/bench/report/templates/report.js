"use strict";
(() => {
  const form = document.querySelector(".filter"), list = document.querySelector(".index");
  if (!form || !list) return;
  const items = [...list.children], articles = new Map([...document.querySelectorAll("article[data-n]")].map(a => [a.dataset.n, a]));
  const number = text => Number.isNaN(Number(text)) ? 0 : Number(text);
  const apply = () => {
    const wanted = Object.fromEntries(new FormData(form)), words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const d = item.dataset;
      const fits = ["category", "status", "mark"].every(name => !wanted[name] || d[name] === wanted[name]) && words.every(word => d.text.includes(word));
      item.hidden = !fits;
      shown += fits;
      const article = articles.get(d.n);
      if (article) article.hidden = !fits;
    }
    const down = wanted.order.startsWith("-"), key = wanted.order.replace("-", "");
    items.sort((a, b) => (number(a.dataset[key]) - number(b.dataset[key])) * (down ? -1 : 1) || number(a.dataset.n) - number(b.dataset.n));
    list.append(...items);
    form.querySelector(".shown").value = shown + " of " + items.length + " shown";
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  apply();
})();
