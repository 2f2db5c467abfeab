// What the page can do beyond being read: sort and filter tables, show a mark's figure, change the unit of costs, whose texts are all in the
// page. The one thing that it computes is how many cores a typed rate of requests keeps busy.
'use strict';
(function () {
  const costs = JSON.parse(document.getElementById('costs').textContent);
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  let unit = 0;

  // Units.
  const chooser = document.getElementById('unit');
  const update = () => {
    unit = Math.max(0, chooser.selectedIndex);
    all('[data-v]').forEach((each) => { each.textContent = costs.texts[each.dataset.v][unit] + (each.dataset.m || ''); });
    all('.u').forEach((each) => { each.textContent = costs.units[unit].name; });
    all('.a').forEach((each) => { each.classList.toggle('on', Number(each.dataset.a) === unit); });
    chooser.title = costs.units[unit].about;
    all('.chart').forEach((chart) => { if (chart.show) chart.show(chart.mark); });
  };
  document.getElementById('units').hidden = !costs.texts.length;
  chooser.addEventListener('change', update);
  chooser.addEventListener('input', update);

  // Tables: a button in each heading. Figures before words, words before nothing.
  const key = (cell) => {
    const text = cell ? cell.textContent.trim() : '';
    const number = cell && cell.dataset.s !== undefined ? Number(cell.dataset.s) : parseFloat(text);
    return { number, text, rank: !Number.isNaN(number) ? 0 : text === '' || text === '-' ? 2 : 1 };
  };
  const compare = (a, b) => a.number - b.number || a.text.localeCompare(b.text);
  all('table').forEach((table) => {
    const body = table.tBodies[0];
    all('thead th', table).forEach((heading, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...heading.childNodes);
      if (!button.textContent.trim()) button.setAttribute('aria-label', 'sort by this column');
      heading.append(button);
      button.addEventListener('click', () => {
        const down = heading.getAttribute('aria-sort') === 'ascending';
        all('thead th', table).forEach((other) => other.removeAttribute('aria-sort'));
        heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rows = Array.from(body.rows).map((row) => ({ row, key: key(row.cells[column]) }));
        rows.sort((a, b) => a.key.rank - b.key.rank ||
          (down ? -1 : 1) * (a.key.rank ? a.key.text.localeCompare(b.key.text) : compare(a.key, b.key)));
        body.append(...rows.map((each) => each.row));
      });
    });
  });

  // Choices: of the rows in the same section, those are shown whose group is in each of them.
  all('.filters').forEach((box) => {
    const choices = all('select', box);
    const filter = () => {
      const rows = all('tr[data-g]', box.parentElement);
      rows.forEach((row) => { row.hidden = !choices.every((each) => !each.value || each.value.split(' ').includes(row.dataset.g)); });
      box.querySelector('output').textContent = rows.filter((row) => !row.hidden).length + ' of ' + rows.length + ' rows';
    };
    choices.forEach((each) => each.addEventListener('change', filter));
    box.hidden = false;
    filter();
  });

  // Charts: the figure of the mark under the pointer, or of the one that the arrow keys lead to.
  all('.chart').forEach((chart) => {
    const marks = all('[data-n]', chart);
    if (!marks.length) return;
    const plot = chart.querySelector('.plot');
    const read = document.createElement('output');
    read.className = 'read';
    read.setAttribute('aria-live', 'polite');
    chart.append(read);
    chart.show = (mark) => {
      if (chart.mark) chart.mark.classList.remove('at');
      chart.mark = mark;
      if (!mark) { read.textContent = ''; return; }
      mark.classList.add('at');
      const cost = mark.dataset.k;
      read.textContent = mark.dataset.n + (cost === undefined ? '' : ': ' + costs.texts[cost][unit] + ' ' + costs.units[unit].name);
    };
    plot.tabIndex = 0;
    plot.setAttribute('role', 'group');
    plot.setAttribute('aria-label', chart.querySelector('strong').textContent + ': arrow keys lead from figure to figure');
    plot.addEventListener('focus', () => { if (!chart.mark && plot.matches(':focus-visible')) chart.show(marks[0]); });
    plot.addEventListener('blur', () => chart.show(null));
    plot.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === 'Escape') { chart.show(null); return; }
      if (!step) return;
      event.preventDefault();
      const place = marks.indexOf(chart.mark);
      chart.show(marks[place < 0 ? 0 : (place + step + marks.length) % marks.length]);
    });
    plot.addEventListener('pointermove', (event) => {
      let nearest = null;
      let least = 32;
      marks.forEach((mark) => {
        const box = mark.getBoundingClientRect();
        const aside = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const above = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const far = Math.hypot(aside, above);
        if (far < least) { least = far; nearest = mark; }
      });
      if (nearest !== chart.mark) chart.show(nearest);
    });
    plot.addEventListener('pointerleave', () => { if (document.activeElement !== plot) chart.show(null); });
  });

  // Cores at a rate of requests: a field in place of the run's own rate. Figures are rounded as in digits.rs.
  const figure = (value, half) => {
    const size = half === undefined ? value : half;
    const power = Math.floor(Math.log10(Math.abs(size)));
    let places = 2 - power, most = 6;
    if (half !== undefined) { places = (half / 10 ** power < 1.95 ? 1 : 0) - power; most = 3; }
    if (!Number.isFinite(places)) { if (half === undefined) return '0'; places = most; }
    places = Math.min(most, Math.max(0, places));
    return value.toFixed(places) + (half === undefined ? '' : ' \u00b1' + half.toFixed(places));
  };
  all('.cores').forEach((cores) => {
    const own = cores.querySelector('[data-own]');
    const field = document.createElement('input');
    Object.assign(field, { type: 'number', min: own.dataset.least || '1', max: '1000000000', step: 'any', inputMode: 'decimal', value: own.dataset.own });
    field.setAttribute('aria-label', own.dataset.what || 'Requests per second');
    own.replaceWith(field);
    const multiply = () => {
      const valid = field.value !== '' && field.validity.valid;
      const rate = Number(valid ? field.value : own.dataset.own);
      field.setAttribute('aria-invalid', String(!valid));
      all('[data-r]', cores).forEach((cell) => {
        cell.textContent = figure(...cell.dataset.r.split(' ').map((us) => Number(us) * rate / 1e6));
      });
    };
    field.addEventListener('input', multiply);
    multiply();
  });

  // What is folded is printed too.
  let folded = [];
  window.addEventListener('beforeprint', () => {
    folded = all('details:not([open])');
    folded.forEach((each) => { each.open = true; });
  });
  window.addEventListener('afterprint', () => folded.forEach((each) => { each.open = false; }));
  update(); // a browser that goes back to the page may have kept another choice
})();
