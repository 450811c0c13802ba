"""The figures of the page, in its order."""

from figures import costs, hidden, restoration, spectra, tasks

FIGURES = (spectra.decay, spectra.bypass, spectra.removal, restoration.strategies, restoration.plans,
           restoration.planned, restoration.queries, restoration.data, restoration.spans, hidden.hidden,
           costs.costs, costs.tradeoff, tasks.tasks, tasks.convolution)


def figures_of(collection):
    """Those that have something to draw, or that listed runs would draw."""
    figures = [figure(collection) for figure in FIGURES]
    return [figure for figure in figures if figure.panels or figure.missing]
