"""How much carbon dioxide (equivalent) a kilowatt-hour causes, by country.

Yearly means hide the hour and the contract: your supplier's number is better, and is passed as
``carbon_intensity_g_per_kwh``. Nothing is fetched from the network.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import StepscopeError

# Grams of CO2 equivalent a kWh of electricity generated, over its life cycle, and the year the mean is of.
# Source: Ember and the Energy Institute, processed by Our World in Data ("Carbon intensity of electricity generation",
# CC BY 4.0), as published in CodeCarbon's global_energy_mix.json of September 2024; rounded to whole grams.
# "world" is the mean that CodeCarbon falls back to: IEA, Global Energy & CO2 Status Report 2019, for 2018.
_TABLE: dict[str, tuple[str, int, int]] = {
    "WORLD": ("world", 475, 2018),
    "ARE": ("United Arab Emirates", 561, 2022),
    "ARG": ("Argentina", 354, 2023),
    "AUS": ("Australia", 549, 2023),
    "AUT": ("Austria", 111, 2023),
    "BEL": ("Belgium", 138, 2023),
    "BRA": ("Brazil", 98, 2023),
    "CAN": ("Canada", 170, 2023),
    "CHE": ("Switzerland", 35, 2023),
    "CHL": ("Chile", 291, 2023),
    "CHN": ("China", 582, 2023),
    "CZE": ("Czechia", 450, 2023),
    "DEU": ("Germany", 381, 2023),
    "DNK": ("Denmark", 152, 2023),
    "ESP": ("Spain", 174, 2023),
    "FIN": ("Finland", 79, 2023),
    "FRA": ("France", 56, 2023),
    "GBR": ("United Kingdom", 238, 2023),
    "GRC": ("Greece", 337, 2023),
    "IDN": ("Indonesia", 676, 2022),
    "IND": ("India", 713, 2023),
    "IRL": ("Ireland", 291, 2023),
    "ISL": ("Iceland", 28, 2022),
    "ISR": ("Israel", 583, 2022),
    "ITA": ("Italy", 331, 2023),
    "JPN": ("Japan", 485, 2023),
    "KOR": ("South Korea", 431, 2023),
    "MEX": ("Mexico", 507, 2023),
    "NLD": ("Netherlands", 268, 2023),
    "NOR": ("Norway", 30, 2023),
    "NZL": ("New Zealand", 113, 2023),
    "POL": ("Poland", 662, 2023),
    "PRT": ("Portugal", 166, 2023),
    "SAU": ("Saudi Arabia", 707, 2022),
    "SGP": ("Singapore", 471, 2023),
    "SWE": ("Sweden", 41, 2023),
    "THA": ("Thailand", 550, 2023),
    "TUR": ("Turkey", 465, 2023),
    "TWN": ("Taiwan", 642, 2023),
    "USA": ("United States", 369, 2023),
    "VNM": ("Vietnam", 475, 2023),
    "ZAF": ("South Africa", 708, 2023),
}

# ISO 3166-1 alpha-2 for the alpha-3 codes above.
_SHORT = dict(
    pair.split(":")
    for pair in (
        "AE:ARE AR:ARG AU:AUS AT:AUT BE:BEL BR:BRA CA:CAN CH:CHE CL:CHL CN:CHN CZ:CZE DE:DEU DK:DNK ES:ESP FI:FIN"
        " FR:FRA GB:GBR UK:GBR GR:GRC ID:IDN IN:IND IE:IRL IS:ISL IL:ISR IT:ITA JP:JPN KR:KOR MX:MEX NL:NLD NO:NOR"
        " NZ:NZL PL:POL PT:PRT SA:SAU SG:SGP SE:SWE TH:THA TR:TUR TW:TWN US:USA VN:VNM ZA:ZAF"
    ).split()
)


class Intensity(NamedTuple):
    """Grams of CO2 equivalent per kilowatt-hour, and where the number is from."""

    grams_per_kwh: float
    source: str


def stated_intensity(grams_per_kwh: float | None, country: str | None) -> Intensity | None:
    """The stated intensity, as a number or as a country (ISO code or English name); a number wins.

    >>> stated_intensity(None, "fr")
    Intensity(grams_per_kwh=56.0, source='France, mean of 2023, Ember/Our World in Data')
    >>> stated_intensity(25.0, "fr").grams_per_kwh, stated_intensity(None, None)
    (25.0, None)
    """
    if grams_per_kwh is not None:
        if not grams_per_kwh >= 0:
            raise StepscopeError(
                f"a carbon intensity of {grams_per_kwh!r} g/kWh makes no sense",
                hint="give grams of CO2e per kWh, such as 56.0",
            )
        return Intensity(float(grams_per_kwh), "stated by the user")
    if country is None:
        return None
    code = country.strip().upper()
    code = _SHORT.get(code, code)
    for known, (name, grams, year) in _TABLE.items():
        if code in (known, name.upper()):
            origin = "IEA, Global Energy & CO2 Status Report 2019" if known == "WORLD" else "Ember/Our World in Data"
            return Intensity(float(grams), f"{name}, mean of {year}, {origin}")
    raise StepscopeError(
        f"no carbon intensity is known here for the country {country!r}",
        hint=f"pass carbon_intensity_g_per_kwh=..., or one of: {', '.join(sorted(_TABLE))}",
    )
