"""The ticks of every IANA zone over ten years, beside Python's zoneinfo.

    cargo build --workspace --example schedule_ticks
    python3 bench/schedule_zones.py TARGET/debug/examples/schedule_ticks [YEARS]

A daily time of day runs once a day: at its moment, at the first moment after a gap, or at the first of two. The oracle
walks the days of each zone with zoneinfo and works out the same.
"""

import datetime as dt
import subprocess
import sys
import zoneinfo

UTC = dt.timezone.utc
TIMES = [(0, 0), (0, 30), (1, 30), (2, 0), (2, 30), (3, 0), (8, 0), (23, 59)]


def exists(zone, local):
    """Whether a wall-clock time exists in a zone."""
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    return moment.astimezone(zone).replace(tzinfo=None) == local


def moment_of(zone, day, hour, minute):
    """When a time of day runs on a day, as seconds since 1970; None when the day itself does not exist after the gap."""
    local = dt.datetime(day.year, day.month, day.day, hour, minute)
    while not exists(zone, local):
        local += dt.timedelta(minutes=1)
        if local.date() != day:
            return None
    return int(local.replace(tzinfo=zone, fold=0).timestamp())


def main():
    program = sys.argv[1]
    years = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    first, last = dt.date(2020, 1, 1), dt.date(2020 + years, 1, 1)
    zones = sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC")
    lines, expected = [], []
    for place, name in enumerate(zones):
        zone = zoneinfo.ZoneInfo(name)
        hour, minute = TIMES[place % len(TIMES)]
        for hour, minute in {(hour, minute), (2, 30)}:
            start = int(dt.datetime(first.year, 1, 1, tzinfo=UTC).timestamp())
            end = int(dt.datetime(last.year, 1, 1, tzinfo=UTC).timestamp())
            ticks, day = [], first - dt.timedelta(days=1)
            while day <= last:
                tick = moment_of(zone, day, hour, minute)
                if tick is not None and start < tick < end:
                    ticks.append(tick)
                day += dt.timedelta(days=1)
            lines.append(f"{name}\t{minute} {hour} * * *\t{start}\t{end}")
            expected.append(ticks)
    done = subprocess.run(
        [program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    wrong = 0
    for line, ticks, told in zip(lines, expected, done.stdout.splitlines()):
        found = [int(tick) for tick in told.split()] if told != "unreadable" else []
        if found != ticks:
            wrong += 1
            missing, extra = sorted(set(ticks) - set(found))[:3], sorted(set(found) - set(ticks))[:3]
            print(f"{line}: {len(ticks)} expected, {len(found)} found, missing {missing}, extra {extra}")
    total = sum(len(ticks) for ticks in expected)
    print(
        f"{len(zones)} zones, {len(lines)} cadences, {total} ticks over {years} years: {wrong} cadences differ"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
