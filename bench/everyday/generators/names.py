FIRST = "Amelia Oliver Priya Marcus Elena Tomas Grace Hiro Fatima Daniel Sofia Liam Nora Kwame Ingrid Pedro Yuki Aisha Victor Chloe Samuel Leila Dmitri Hannah Mateo Zoe Arthur Mei Julian Rosa Ethan Katya Omar Bridget Felix Anika Logan Beatriz Theo Simone Ravi Harriet Caleb Ines Jonas Maya Patrick Lucia Walter Freya".split()
LAST = "Bennett Okafor Sharma Lindqvist Moreau Novak Castillo Tanaka Haddad Whitfield Rossi Kowalski Brennan Mensah Dahl Ferreira Sato Rahman Petrov Laurent Goldberg Farouk Ivanov Schmidt Vargas Hughes Pemberton Chen Becker Delgado Walsh Sokolova Aziz Murphy Wagner Nair Carter Almeida Fischer Dubois Iyer Thornton Brooks Santos Keller Park OBrien Romano Ellis Larsen".split()


def people(rnd, n):
    seen = set()
    out = []
    while len(out) < n:
        x = rnd.choice(FIRST) + " " + rnd.choice(LAST)
        if x not in seen:
            seen.add(x)
            out.append(x)
    return out
