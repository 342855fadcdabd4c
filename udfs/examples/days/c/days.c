/* Assigns records to the calendar days of a zone of Europe, where clocks go forward at one o'clock Greenwich on the last
 * Sunday of March, and back on that of October. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint hours; } parameters;

static const int64_t HOUR = 3600000, DAY = 24 * 3600000; /* milliseconds */
static int64_t winter; /* how far local time is ahead of Greenwich in winter */

static void days_open(ws_op *o, const parameters *p) {
  (void)o;
  winter = HOUR * ws_get(p, hours);
}

/* Divides and rounds down, before 1970 too. */
static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* How many days there are between 1970 and the first of a month, March or a later one, in the Gregorian calendar: years
 * are taken to begin in March. */
static int64_t days_before(int64_t year, int64_t month) {
  return 365 * year + floor_of(year, 4) - floor_of(year, 100) + floor_of(year, 400) + (153 * (month - 3) + 2) / 5 - 719468;
}

static int64_t is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static int64_t year_of(int64_t date) {
  int64_t year = 1970 + floor_of(date, 366);
  while (days_before(year + 1, 3) - 31 - 28 - is_leap(year + 1) <= date) year++;
  return year;
}

/* The last Sunday of a month of 31 days, as a number of days since 1970, which began with a Thursday. */
static int64_t last_sunday(int64_t year, int64_t month) {
  int64_t last = days_before(year, month) + 30;
  return last - (last + 4 - 7 * floor_of(last + 4, 7));
}

/* How far local time is ahead of Greenwich at a time. */
static int64_t ahead(int64_t time) {
  int64_t year = year_of(floor_of(time, DAY));
  int is_summer = time >= last_sunday(year, 3) * DAY + HOUR && time < last_sunday(year, 10) * DAY + HOUR;
  return winter + (is_summer ? HOUR : 0);
}

/* The time at which a local date begins. At midnight nobody changes the clock. */
static int64_t midnight(int64_t date) { return date * DAY - ahead(date * DAY - winter - HOUR / 2); }

static void days_assign(ws_op *o, const ws_header *in) {
  (void)in;
  int64_t date = floor_of(ws_time(o) + ahead(ws_time(o)), DAY);
  ws_assign(o, midnight(date), midnight(date + 1));
}
WS_ASSIGNER(days, ws_header)
WS_MODULE(WS_FUNCTION_WITH(0, days, parameters))
