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

/* The price of a launch, of which the most is given: drawn down fast and up slowly, since a launch that waits for room
 * in the device's queue tells nothing. */
static inline void ag_price_draw_launch(double *price, double measured, double most)
{
    if (measured < *price)
        *price += (measured - *price) / 8;
    else
        *price += ((measured < 2 * *price ? measured : 2 * *price) - *price) / 128;
    if (*price > most)
        *price = most;
}

/* A launch was not made because of its price. What is never bought is never measured again: so the price falls, so
 * slowly that the launches that are tried in vain cost less than a hundredth. */
static inline void ag_price_declined(double *price)
{
    *price -= *price / 32768;
}

#endif
