/* Prices: what something costs here, drawn from measured times. */
#ifndef AG_ANALYSIS_PRICE_H
#define AG_ANALYSIS_PRICE_H

/* Draws a price towards a measured time of the same unit; the first one is taken as it is. A thread that was
 * interrupted meanwhile tells nothing: what is far above the price counts as twice the price. */
static inline void ag_price_draw(double *price, double measured)
{
    if (*price > 0 && measured > 2 * *price)
        measured = 2 * *price;
    *price += *price > 0 ? (measured - *price) / 8 : measured;
}

#endif
