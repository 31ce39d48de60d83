import sys, os, csv, random
from datetime import date, timedelta

out = sys.argv[1]
R = random.Random(7303)
# group: kcal, prot, fat, carbs, sugar share, fiber, salt, price/100g, vegan prob, names
G = {
    "Vegetables": (
        38,
        2.1,
        0.4,
        6,
        0.5,
        2.8,
        0.05,
        0.42,
        1,
        [
            "Broccoli",
            "Carrot",
            "Spinach",
            "Zucchini",
            "Tomato",
            "Cucumber",
            "Bell Pepper",
            "Kale",
            "Cauliflower",
            "Leek",
            "Eggplant",
            "Fennel",
            "Celery",
            "Beetroot",
            "Pumpkin",
            "Asparagus",
        ],
    ),
    "Fruit": (
        58,
        0.8,
        0.4,
        13,
        0.8,
        2.3,
        0.01,
        0.48,
        1,
        [
            "Apple",
            "Banana",
            "Orange",
            "Pear",
            "Strawberry",
            "Mango",
            "Kiwi",
            "Grape",
            "Pineapple",
            "Blueberry",
            "Peach",
            "Cherry",
            "Papaya",
            "Plum",
        ],
    ),
    "Dairy": (
        165,
        10.5,
        11,
        5.5,
        0.8,
        0,
        0.7,
        0.95,
        0,
        [
            "Gouda",
            "Plain Yogurt",
            "Whole Milk",
            "Mozzarella",
            "Feta",
            "Cottage Cheese",
            "Butter",
            "Cream",
            "Kefir",
            "Quark",
            "Parmesan",
        ],
    ),
    "Meat": (
        205,
        21,
        13,
        0.8,
        0.3,
        0,
        0.9,
        1.65,
        0,
        [
            "Chicken Breast",
            "Beef Mince",
            "Pork Loin",
            "Turkey Ham",
            "Salami",
            "Lamb Chop",
            "Bacon",
            "Duck Leg",
        ],
    ),
    "Fish": (
        158,
        20,
        8.5,
        0.3,
        0,
        0,
        0.8,
        2.3,
        0,
        ["Salmon Fillet", "Tuna Can", "Cod", "Sardines", "Mackerel", "Trout", "Shrimp"],
    ),
    "Grains": (
        345,
        10.5,
        2.9,
        68,
        0.06,
        7,
        0.2,
        0.36,
        0.95,
        [
            "Oats",
            "Brown Rice",
            "Basmati Rice",
            "Spelt Flour",
            "Couscous",
            "Bulgur",
            "Quinoa",
            "Spaghetti",
            "Rye Bread",
            "Polenta",
        ],
    ),
    "Legumes": (
        290,
        19,
        4,
        44,
        0.08,
        12,
        0.1,
        0.5,
        1,
        ["Red Lentils", "Chickpeas", "Black Beans", "Kidney Beans", "Green Peas", "Soybeans"],
    ),
    "Nuts & Seeds": (
        590,
        19,
        50,
        17,
        0.25,
        8.5,
        0.05,
        1.75,
        1,
        ["Almonds", "Walnuts", "Cashews", "Sunflower Seeds", "Chia Seeds", "Hazelnuts", "Peanuts"],
    ),
    "Sweets": (
        455,
        5.5,
        21,
        61,
        0.78,
        2,
        0.25,
        1.15,
        0.25,
        ["Milk Chocolate", "Gummy Bears", "Shortbread", "Vanilla Ice Cream", "Caramel Bar", "Nougat Cream"],
    ),
    "Beverages": (
        36,
        0.5,
        0.2,
        8,
        0.9,
        0.2,
        0.03,
        0.22,
        0.9,
        ["Orange Juice", "Cola", "Iced Tea", "Oat Drink", "Lemonade", "Tomato Juice"],
    ),
}
O = {
    "Vegetables": ["Spain", "Netherlands", "Italy", "Germany"],
    "Fruit": ["Spain", "Italy", "Costa Rica", "Peru", "Germany"],
    "Dairy": ["Germany", "France", "Italy", "Netherlands"],
    "Meat": ["Germany", "Poland", "Ireland", "France"],
    "Fish": ["Norway", "Portugal", "Iceland"],
    "Grains": ["Germany", "Italy", "India", "Peru"],
    "Legumes": ["Turkey", "Canada", "Mexico"],
    "Nuts & Seeds": ["USA", "Turkey", "Vietnam"],
    "Sweets": ["Germany", "Belgium", "France"],
    "Beverages": ["Germany", "Spain", "Austria"],
}
br = ["Bio Sonne", "NaturGut", "Fresco", "Casa Verde", "Hofladen", "BasicLine", "GoldKrone", "Alpina"]
rec = [
    "Lasagne",
    "Curry",
    "Stew",
    "Salad",
    "Soup",
    "Casserole",
    "Risotto",
    "Burger",
    "Stir Fry",
    "Pie",
    "Bowl",
    "Wrap",
]
adj = ["Chicken", "Beef", "Lentil", "Tofu", "Mushroom", "Salmon", "Pumpkin", "Spinach", "Chickpea", "Tomato"]
rows = []


def n(x, d=1):
    return max(0, round(x, d))


def dt():
    return date(2021, 3, 1) + timedelta(days=int(1340 * (R.random() ** 0.8)))


for g, (k, p, f, cb, ss, fi, sa, pr, vg, names) in G.items():
    for nm in names:
        for b in R.sample(br, R.choice([2, 3, 4, 5])):
            q = R.gauss(1, 0.18)
            q = max(0.5, q)
            bio = b in ("Bio Sonne", "NaturGut", "Casa Verde") or R.random() < 0.12
            pack = (
                R.choice([100, 150, 200, 250, 400, 500, 500, 750, 1000])
                if g != "Beverages"
                else R.choice([330, 500, 1000, 1500])
            )
            pf = {"GoldKrone": 1.35, "BasicLine": 0.68, "Bio Sonne": 1.25}.get(b, 1) * (1.12 if bio else 1)
            fat = n(f * q * R.uniform(0.6, 1.4))
            carb = n(cb * q * R.uniform(0.8, 1.2))
            pro = n(p * q * R.uniform(0.75, 1.25))
            rows.append(
                [
                    nm + " (" + b + ")",
                    "food",
                    g,
                    R.choices(O[g], [5, 3, 2, 1.4, 1][: len(O[g])])[0],
                    round(fat * 9 + carb * 4 + pro * 4 + R.uniform(0, 6)),
                    pro,
                    fat,
                    carb,
                    n(carb * ss * R.uniform(0.7, 1.1)),
                    n(fi * R.uniform(0.6, 1.4)),
                    n(sa * R.uniform(0.3, 1.9), 2),
                    pack,
                    round(pr * pf * pack / 100 * R.uniform(0.75, 1.3), 2),
                    "yes" if R.random() < vg else "no",
                    "yes" if bio else "no",
                    None,
                ]
            )
for a in adj:
    for r in R.sample(rec, R.choice([7, 8, 9, 10])):
        fat = n(R.uniform(1.5, 12))
        pro = n(R.gauss({"Chicken": 12, "Beef": 13, "Salmon": 12, "Tofu": 9}.get(a, 5.5), 1.8))
        carb = n(R.uniform(5, 21))
        veg = (
            a in ("Lentil", "Tofu", "Mushroom", "Pumpkin", "Spinach", "Chickpea", "Tomato")
            and R.random() < 0.55
        )
        g = (
            "Soups & Stews"
            if r in ("Soup", "Stew", "Curry")
            else "Salads & Bowls"
            if r in ("Salad", "Bowl", "Wrap")
            else "Main Dishes"
        )
        pm = {
            "Soup": 30,
            "Stew": 95,
            "Curry": 45,
            "Salad": 15,
            "Bowl": 22,
            "Wrap": 18,
            "Lasagne": 85,
            "Casserole": 70,
            "Risotto": 40,
            "Burger": 32,
            "Stir Fry": 25,
            "Pie": 80,
        }[r]
        rows.append(
            [
                a + " " + r,
                "recipe",
                g,
                R.choices(["Germany", "Italy", "India", "Thailand", "Mexico", "USA"], [5, 4, 3, 2, 2, 1])[0],
                round(fat * 9 + carb * 4 + pro * 4 + R.uniform(0, 6)),
                pro,
                fat,
                carb,
                n(carb * R.uniform(0.1, 0.4)),
                n(R.uniform(0.8, 5)),
                n(R.uniform(0.4, 1.8), 2),
                R.choice([300, 350, 400, 450, 500]),
                round(R.uniform(2.2, 7.4) * (1.5 if a in ("Beef", "Salmon") else 1), 2),
                "yes" if veg else "no",
                "yes" if R.random() < 0.2 else "no",
                max(8, int(R.gauss(pm, pm * 0.15))),
            ]
        )
R.shuffle(rows)


def ns(r):
    s = r[4] / 80 + r[8] / 4.5 + r[6] / 6 + r[10] * 2.0 - r[9] * 0.8 - r[5] * 0.3
    return "A" if s < 0.5 else "B" if s < 2.6 else "C" if s < 5.5 else "D" if s < 10 else "E"


ds = sorted(dt() for _ in rows)


def dc(x):
    return "" if x is None else str(x).replace(".", ",") if isinstance(x, float) else x


with open(os.path.join(out, "nutrition.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        "item_id;item_name;kind;food_group;origin;kcal_100g;protein_g;fat_g;carbs_g;sugar_g;fiber_g;salt_g;pack_size_g;price_eur;vegan;organic;prep_time_min;nutri_score;user_rating;listed_on;last_checked".split(
            ";"
        )
    )
    for i, (r, d) in enumerate(zip(rows, ds), 1):
        rating = (
            ""
            if R.random() < 0.12
            else dc(
                round(
                    min(
                        5,
                        max(
                            1,
                            R.gauss(
                                3.7 + (0.35 if r[1] == "recipe" else 0) - (0.2 if r[14] == "yes" else 0), 0.6
                            ),
                        ),
                    ),
                    1,
                )
            )
        )
        lc = "" if R.random() < 0.08 else (d + timedelta(days=R.randrange(5, 420))).isoformat()
        r = [r[0], r[1], r[2], None if R.random() < 0.03 else r[3]] + r[4:]
        if R.random() < 0.05:
            r[9] = None
        fl = [float(x) if j in (5, 6, 7, 8, 9, 10, 12) and x is not None else x for j, x in enumerate(r)]
        score = ns([0 if v is None else v for v in r])
        w.writerow([1000 + i] + [dc(x) for x in fl] + [score, rating, d.isoformat(), lc])
