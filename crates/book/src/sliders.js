// Sliders over frames that were computed before: the last slider moves fastest.
document.addEventListener('input', ({ target }) => {
    const interaction = target.closest('.interaction');
    if (!interaction) {
        return;
    }
    let index = 0;
    for (const slider of interaction.querySelectorAll('input')) {
        const values = slider.dataset.values.split(' ');
        index = index * values.length + Number(slider.value);
        slider.nextElementSibling.textContent = values[slider.value];
        slider.setAttribute('aria-valuetext', values[slider.value]);
    }
    interaction.querySelectorAll('.frame').forEach((frame, at) => {
        frame.hidden = at !== index;
        // From now on all are needed at once.
        frame.querySelectorAll('img').forEach(image => image.loading = 'eager');
    });
});
