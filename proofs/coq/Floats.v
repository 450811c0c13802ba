(* The floating-point ring products of lattice masks and of the hidden split, and their error: README.md,
   "Error", of optimized/masks. An operation is a relation: any result whose relative error is at most u,
   so that the bounds hold for every rounding, and with fused operations or without. *)
From Coq Require Import ZArith Ring.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Lattice.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* -------------------------------------------------------------------------------- operations *)
(* Numbers are those of any algebraically closed field C with a norm, such as the complex ones. *)

(* y is x, off by a relative error of at most u. *)
Definition rounded (C : numClosedFieldType) (u x y : C) : Prop := `|y - x| <= u * `|x|.

(* `round x y`: y is what an operation leaves whose exact result is x. *)
Section Operations.
Variables (C : numClosedFieldType) (round : C -> C -> Prop).
Implicit Types (a w x y z : C).

(* The same of real and imaginary part: what a sum of complex numbers becomes. *)
Definition parts_rounded x y : Prop := round ('Re x) ('Re y) /\ round ('Im x) ('Im y).

(* z is x + y, each product x and y rounded or, as of a fused operation, not: `round` allows x itself. *)
Definition sum_of_two x y z : Prop := exists p q, [/\ round x p, round y q & round (p + q) z].

(* a times w: minus_product() and plus_product() of lanes.hpp. *)
Definition times a w z : Prop :=
  sum_of_two ('Re a * 'Re w) (- ('Im a * 'Im w)) ('Re z)
  /\ sum_of_two ('Re a * 'Im w) ('Im a * 'Re w) ('Im z).

(* Products are added one by one, of a sum that begins with the first. *)
Fixpoint accumulate s (terms : seq C) z : Prop :=
  if terms is x :: rest
  then exists p s', [/\ round x p, round (s + p) s' & accumulate s' rest z]
  else z = s.

Definition sum_of_products (terms : seq C) z : Prop :=
  if terms is x :: rest then exists2 p, round x p & accumulate p rest z else z = 0.

Section Point.
Variables (d : nat) (x s : 'I_d -> C).
(* multiply_points() of products.hpp, at one point. *)
Definition point_by_four_sums z : Prop :=
  exists re_re im_im re_im im_re,
  [/\ sum_of_products [seq 'Re (x l) * 'Re (s l) | l <- enum 'I_d] re_re,
      sum_of_products [seq 'Im (x l) * 'Im (s l) | l <- enum 'I_d] im_im,
      sum_of_products [seq 'Re (x l) * 'Im (s l) | l <- enum 'I_d] re_im
    & sum_of_products [seq 'Im (x l) * 'Re (s l) | l <- enum 'I_d] im_re]
  /\ round (re_re - im_im) ('Re z) /\ round (re_im + im_re) ('Im z).

(* multiply_point() of small_matrix.hpp: x is the column's, s the matrix's. *)
Definition point_by_two_sums z : Prop :=
  sum_of_products
    (flatten [seq [:: 'Re (x l) * 'Re (s l); - ('Im (x l) * 'Im (s l))] | l <- enum 'I_d]) ('Re z)
  /\ sum_of_products
    (flatten [seq [:: 'Im (x l) * 'Re (s l); 'Re (x l) * 'Im (s l)] | l <- enum 'I_d]) ('Im z).
End Point.
End Operations.
Arguments point_by_four_sums [C] round {d}.
Arguments point_by_two_sums [C] round {d}.

(* --------------------------------------------------------------------------------- transform *)
(* The polynomials of a step have 2 4^l coefficients, modulo X^(2 4^l) - g^s, where g^128 = i: l steps
   by four are left and one by two. Vectors are functions; only the first 2 4^l values matter. Entry j
   is the j-th coefficient of each quarter, quarter q the q-th of them. *)
Definition size_of (l : nat) : nat := 2 * 4 ^ l.
Definition entry (C : Type) (m j : nat) (x : nat -> C) : nat -> C := fun i => x (i * m + j)%N.
Definition quarter (C : Type) (m q : nat) (x : nat -> C) : nat -> C := fun j => x (q * m + j)%N.
(* The roots of X^4 = g^s are w, -w, i w and -i w for w = g^(s / 4). *)
Definition child (s q : nat) : nat := (s %/ 4 + 128 * nth 0 [:: 0; 2; 1; 3] q)%N.
(* Of the last step. It is turned where its root is i times that of a table: X^2 + v^2. *)
Definition last_root (s : nat) (turned : bool) : nat := (s %/ 2 - 128 * turned)%N.

(* transform.hpp, step by step. `sum x y`: y is what a sum computes that is x exactly; `by_root e x y`:
   y is the product of x and g^e. *)
Section Transform.
Variables (C : numClosedFieldType) (sum : C -> C -> Prop) (by_root : nat -> C -> C -> Prop).
Implicit Types x y z : nat -> C.

Definition split_by_four (e : nat) x y : Prop :=
  exists wb wc wd even other_even odd other_odd,
  [/\ by_root e (x 1%N) wb, by_root (2 * e)%N (x 2%N) wc & by_root (3 * e)%N (x 3%N) wd]
  /\ [/\ sum (x 0%N + wc) even, sum (x 0%N - wc) other_even, sum (wb + wd) odd
       & sum (wb - wd) other_odd]
  /\ [/\ sum (even + odd) (y 0%N), sum (even - odd) (y 1%N),
         sum (other_even + 'i * other_odd) (y 2%N)
       & sum (other_even - 'i * other_odd) (y 3%N)].

Definition split_by_two (s : nat) (turned : bool) x y : Prop :=
  exists t, by_root (last_root s turned) (x 1%N) t
  /\ let t' := if turned then 'i * t else t in sum (x 0%N + t') (y 0%N) /\ sum (x 0%N - t') (y 1%N).

Fixpoint forward (l s : nat) (turned : bool) x y : Prop :=
  if l is l'.+1
  then let m := size_of l' in exists z,
    (forall j, (j < m)%N -> split_by_four (s %/ 4) (entry m j x) (entry m j z))
    /\ forall q, (q < 4)%N -> forward l' (child s q) (odd q) (quarter m q z) (quarter m q y)
  else split_by_two s turned x y.

(* The same of x / g^e, and of i x / g^e. *)
Variables (over_root i_over_root : nat -> C -> C -> Prop).

Definition join_by_four (e : nat) x y : Prop :=
  exists even odd other_even i_other_odd b c d,
  [/\ sum (x 0%N + x 1%N) even, sum (x 0%N - x 1%N) odd, sum (x 2%N + x 3%N) other_even
    & sum (x 2%N - x 3%N) i_other_odd]
  /\ [/\ sum (even + other_even) (y 0%N), sum (odd - 'i * i_other_odd) b,
         sum (even - other_even) c & sum (odd + 'i * i_other_odd) d]
  /\ [/\ over_root e b (y 1%N), over_root (2 * e)%N c (y 2%N) & over_root (3 * e)%N d (y 3%N)].

Definition join_by_two (s : nat) (turned : bool) x y : Prop :=
  sum (x 0%N + x 1%N) (y 0%N)
  /\ exists b, sum (if turned then x 1%N - x 0%N else x 0%N - x 1%N) b
     /\ (if turned then i_over_root else over_root) (last_root s turned) b (y 1%N).

Fixpoint inverse (l s : nat) (turned : bool) x y : Prop :=
  if l is l'.+1
  then let m := size_of l' in exists z,
    (forall q, (q < 4)%N -> inverse l' (child s q) (odd q) (quarter m q x) (quarter m q z))
    /\ forall j, (j < m)%N -> join_by_four (s %/ 4) (entry m j z) (entry m j y)
  else join_by_two s turned x y.
End Transform.

Section Products.
Variables (C : numClosedFieldType) (round : C -> C -> Prop) (table : nat -> C).

(* Roots are table e, for g^e. A backend may fuse or not, and differently each time. *)
Definition float_forward : (nat -> C) -> (nat -> C) -> Prop :=
  forward (parts_rounded round) (fun e a => times round a (table e)) 3 128 false.

Definition float_inverse : (nat -> C) -> (nat -> C) -> Prop :=
  inverse (parts_rounded round) (fun e a => times round a (table e)^* )
    (fun e a => times round a ('i * (table e)^* )) 3 128 false.

(* A real polynomial modulo X^256 + 1, as a complex one modulo X^128 - i. *)
Definition complex_form (a : 'rV[C]_256) (j : nat) : C :=
  (rVpoly a)`_j + 'i * (rVpoly a)`_(j + 128).

(* sum_l a_l s_l: transforms, products point by point, the inverse; the secret s is divided by 128. *)
Definition float_product (d : nat) (point : ('I_d -> C) -> ('I_d -> C) -> C -> Prop)
    (a s : 'I_d -> 'rV[C]_256) (y : nat -> C) : Prop :=
  exists (A S : 'I_d -> nat -> C) (z : nat -> C),
  [/\ forall l, float_forward (complex_form (a l)) (A l),
      forall l, float_forward (fun j => complex_form (s l) j / 128%:R) (S l),
      forall k, (k < 128)%N -> point (A^~ k) (S^~ k) (z k)
    & float_inverse z y].
End Products.

(* ---------------------------------------------------------------- errors of operations *)
Section Proofs.
Variable C : numClosedFieldType.

(* The tactic `ring` of the Coq distribution, for C. *)
Let T : Type := Num.ClosedField.sort C.
Let add (x y : T) : T := (x : C) + (y : C).
Let mul (x y : T) : T := (x : C) * (y : C).
Let opp (x : T) : T := - (x : C).
Let sub (x y : T) : T := add x (opp y).
Let zero : T := 0 : C.
Let one : T := 1 : C.
Let abs (x : T) : T := `|x : C|.
Let field_ring : ring_theory zero one add mul sub opp eq.
Proof.
split; rewrite /zero /one /add /mul /sub /opp //;
  [exact: add0r|exact: addrC|exact: addrA|exact: mul1r|exact: mulrC|exact: mulrA|exact: mulrDl|].
exact: subrr.
Qed.
Add Ring field_ring : field_ring.

Ltac ring_terms :=
  rewrite ?exprS ?expr0 ?mulrS ?mulr0n;
  repeat match goal with |- context [@GRing.add ?R ?x ?y] =>
    change (@GRing.add R x y) with (add x y) end;
  repeat match goal with |- context [@GRing.mul ?R ?x ?y] =>
    change (@GRing.mul R x y) with (mul x y) end;
  repeat match goal with |- context [@GRing.opp ?R ?x] =>
    change (@GRing.opp R x) with (opp x) end;
  repeat match goal with |- context [GRing.zero ?R] => change (GRing.zero R) with zero end;
  repeat match goal with |- context [GRing.one ?R] => change (GRing.one R) with one end;
  repeat match goal with |- context [ `| ?x | ] => change (`| x |) with (abs x) end;
  match goal with |- @eq _ ?x ?y => change (@eq T x y) end.
Ltac by_ring := ring_terms; ring.

Implicit Types (a b c w x y z : C).

Let i_square : mul 'i 'i = opp one.
Proof. exact: mulCii. Qed.
Ltac by_ring_i := ring_terms; ring [i_square].

(* Sizes of numbers. *)
Let ge01 : 0 <= 1 :> C.
Proof. exact: ler01. Qed.
Let ge0n n : 0 <= n%:R :> C.
Proof. exact: ler0n. Qed.
#[local] Hint Resolve ge01 ge0n : core.

Lemma le_of_squares x y : 0 <= x -> 0 <= y -> x ^+ 2 <= y ^+ 2 -> x <= y.
Proof. by move=> x_ge0 y_ge0; rewrite ler_sqr // qualifE. Qed.

Lemma le_of_eq x y : x = y -> x <= y.
Proof. by move=> ->. Qed.

Lemma norm_parts x : `|x| ^+ 2 = `|'Re x| ^+ 2 + `|'Im x| ^+ 2.
Proof. by rewrite normC2_Re_Im !real_normK. Qed.

Lemma ReB x y : 'Re (x - y) = 'Re x - 'Re y.
Proof. by rewrite raddfB. Qed.

Lemma ImB x y : 'Im (x - y) = 'Im x - 'Im y.
Proof. by rewrite raddfB. Qed.

Section Rounding.
Variable u : C.
Hypothesis u_ge0 : 0 <= u.

Lemma parts_error x y : parts_rounded (rounded u) x y -> `|y - x| <= u * `|x|.
Proof.
case=> re im; apply: le_of_squares; rewrite ?mulr_ge0 // exprMn.
rewrite [`|y - x| ^+ 2]norm_parts [`|x| ^+ 2]norm_parts ReB ImB mulrDr -!exprMn.
by apply: ler_add; rewrite ler_sqr ?qualifE ?mulr_ge0.
Qed.

Lemma two_error x y z : sum_of_two (rounded u) x y z ->
  `|z - (x + y)| <= u * (1 + u) * (`|x| + `|y| + `|x + y|).
Proof.
case=> p [q [p_ok q_ok z_ok]].
have pq : `|p + q - (x + y)| <= u * `|x| + u * `|y|.
  rewrite (_ : p + q - (x + y) = (p - x) + (q - y)); last by by_ring.
  exact: le_trans (ler_norm_add _ _) (ler_add p_ok q_ok).
have sum : `|p + q| <= `|x + y| + (u * `|x| + u * `|y|).
  rewrite -[p + q](subrK (x + y)) addrC; apply: le_trans (ler_norm_add _ _) _.
  exact: ler_add.
rewrite -[z](subrK (p + q)) -addrA; apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (ler_add z_ok pq) _; apply: le_trans (ler_add (ler_wpmul2l u_ge0 sum) (lexx _)) _.
rewrite -subr_ge0 (_ : _ - _ = u * u * `|x + y|); last by by_ring.
by rewrite !mulr_ge0.
Qed.
End Rounding.

(* Of two numbers with different signs. *)
Lemma norm_sum_opposite x y : x \is Num.real -> y \is Num.real -> x * y <= 0 ->
  `|x| + `|y| + `|x + y| = 2%:R * `|x| \/ `|x| + `|y| + `|x + y| = 2%:R * `|y|.
Proof.
move=> x_real y_real xy.
have norm : `|x + y| ^+ 2 = `| `|x| - `|y| | ^+ 2.
  rewrite [LHS]real_normK ?rpredD // [RHS]real_normK ?rpredB ?normr_real //.
  have e : `|x| * `|y| = - (x * y) by rewrite -normrM ler0_norm.
  rewrite (_ : (x + y) ^+ 2 = x ^+ 2 + y ^+ 2 + 2%:R * (x * y)); last by by_ring.
  rewrite (_ : (`|x| - `|y|) ^+ 2 = `|x| ^+ 2 + `|y| ^+ 2 - 2%:R * (`|x| * `|y|)); last by by_ring.
  by rewrite e (real_normK x_real) (real_normK y_real) mulrN opprK.
have {}norm : `|x + y| = `| `|x| - `|y| |.
  by apply/eqP; rewrite -(@eqr_expn2 _ 2) // norm.
case: (real_leP (normr_real x) (normr_real y)) => xy'; [right|left]; rewrite norm.
  by rewrite distrC ger0_norm ?subr_ge0 //; by_ring.
by rewrite ger0_norm ?subr_ge0 ?(ltW xy') //; by_ring.
Qed.

(* The error of a product, in both parts: p + q is one, r + s the other. *)
Lemma product_squares_le p q r s : p \is Num.real -> q \is Num.real -> r \is Num.real ->
  s \is Num.real -> p * q = - (r * s) -> r * s <= 0 ->
  (3%:R : C) * ((`|p| + `|q| + `|p + q|) ^+ 2 + (`|r| + `|s| + `|r + s|) ^+ 2)
    <= 16%:R * (`|p| ^+ 2 + `|q| ^+ 2 + (`|r| ^+ 2 + `|s| ^+ 2)).
Proof.
move=> p_real q_real r_real s_real pq rs.
have norms : `|p| * `|q| = `|r| * `|s| by rewrite -!normrM pq normrN.
have sum : (`|p| + `|q| + `|p + q|) ^+ 2 <= (2%:R * (`|p| + `|q|)) ^+ 2.
  rewrite ler_sqr ?qualifE ?addr_ge0 ?mulr_ge0 ?addr_ge0 //.
  rewrite (_ : 2%:R * _ = `|p| + `|q| + (`|p| + `|q|)); last by by_ring.
  by rewrite ler_add2l ler_norm_add.
have sq_ge0 x : x \is Num.real -> 0 <= x ^+ 2 by move=> ?; rewrite real_exprn_even_ge0.
have real_norm x : `|x| \is Num.real by exact: normr_real.
have close a b (h : `|p| * `|q| = a * b) : a \is Num.real -> b \is Num.real ->
    (3%:R : C) * ((2%:R * (`|p| + `|q|)) ^+ 2 + (2%:R * a) ^+ 2)
      <= 16%:R * (`|p| ^+ 2 + `|q| ^+ 2 + (a ^+ 2 + b ^+ 2)).
  move=> a_real b_real; rewrite -subr_ge0.
  rewrite (_ : _ - _ = 4%:R * ((`|p| - `|q|) ^+ 2 + (a - 2%:R * b) ^+ 2)
                       + 16%:R * (a * b - `|p| * `|q|)); last by by_ring.
  rewrite h subrr mulr0 addr0 mulr_ge0 // addr_ge0 // sq_ge0 // rpredB // rpredM //.
  exact: realn.
have [e|e] := norm_sum_opposite r_real s_real rs; rewrite e;
  apply: le_trans (ler_wpmul2l (ler0n _ 3) (ler_add sum (lexx _))) _.
  exact: close.
rewrite [X in _ <= 16%:R * (_ + X)]addrC; apply: close => //; by rewrite norms mulrC.
Qed.

Section Product.
Variables (u kappa : C).
Hypotheses (u_ge0 : 0 <= u) (kappa_ge0 : 0 <= kappa).
Hypothesis kappa_ok : 16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * kappa ^+ 2.

Lemma times_error a w z : times (rounded u) a w z -> `|z - a * w| <= kappa * (`|a| * `|w|).
Proof.
case=> re im; set k := u * (1 + u).
have k_ge0 : 0 <= k by apply: mulr_ge0 => //; apply: addr_ge0.
have {re} re := two_error u_ge0 re; have {im} im := two_error u_ge0 im.
set p := 'Re a * 'Re w in re; set q := - ('Im a * 'Im w) in re.
set r := 'Re a * 'Im w in im; set s := 'Im a * 'Re w in im.
have [p_real q_real r_real s_real] : [/\ p \is Num.real, q \is Num.real, r \is Num.real
    & s \is Num.real] by split; rewrite ?rpredN rpredM.
have pq : p * q = - (r * s) by rewrite /p /q /r /s; by_ring.
have modulus : `|p| ^+ 2 + `|q| ^+ 2 + (`|r| ^+ 2 + `|s| ^+ 2) = (`|a| * `|w|) ^+ 2.
  rewrite exprMn [`|a| ^+ 2]norm_parts [`|w| ^+ 2]norm_parts /p /q /r /s normrN !normrM.
  by by_ring.
have parts : (3%:R : C) * ((`|p| + `|q| + `|p + q|) ^+ 2 + (`|r| + `|s| + `|r + s|) ^+ 2)
    <= 16%:R * (`|a| * `|w|) ^+ 2.
  rewrite -modulus; have rs_real : r * s \is Num.real by rewrite rpredM.
  case: (real_leP rs_real (real0 _)) => rs; first exact: product_squares_le.
  rewrite addrC [X in 16%:R * X]addrC; apply: product_squares_le => //; first by rewrite pq opprK.
  by rewrite pq oppr_le0 ltW.
have re' : 'Re (z - a * w) = 'Re z - (p + q) by rewrite ReB ReM.
have im' : 'Im (z - a * w) = 'Im z - (r + s) by rewrite ImB ImM /r /s ['Im a * _]mulrC.
suff : `|z - a * w| ^+ 2 <= (kappa * (`|a| * `|w|)) ^+ 2.
  by apply: le_of_squares => //; rewrite !mulr_ge0.
rewrite norm_parts re' im' -(ler_pmul2l (_ : 0 < 3%:R)) ?ltr0n //.
apply: (@le_trans _ _ (3%:R * (k ^+ 2 * ((`|p| + `|q| + `|p + q|) ^+ 2
                                       + (`|r| + `|s| + `|r + s|) ^+ 2)))).
  rewrite ler_pmul2l ?ltr0n // mulrDr -!exprMn.
  by apply: ler_add; rewrite ler_sqr ?qualifE ?mulr_ge0 ?addr_ge0.
rewrite mulrCA; apply: le_trans (ler_wpmul2l _ parts) _; first exact: exprn_ge0.
rewrite (_ : k ^+ 2 * _ = 16%:R * k ^+ 2 * (`|a| * `|w|) ^+ 2); last by by_ring.
rewrite (_ : 3%:R * _ = 3%:R * kappa ^+ 2 * (`|a| * `|w|) ^+ 2); last by by_ring.
by rewrite ler_wpmul2r ?exprn_ge0 ?mulr_ge0.
Qed.

Variables (rho : C) (w w' : C).
Hypotheses (w_norm : `|w| = 1) (w'_ok : `|w' - w| <= rho).

Lemma root_error a z : times (rounded u) a w' z ->
  `|z - a * w| <= ((1 + kappa) * (1 + rho) - 1) * `|a|.
Proof.
move/times_error => ok.
have w'_le : `|w'| <= 1 + rho.
  rewrite -[w'](subrK w) addrC -w_norm; apply: le_trans (ler_norm_add _ _) _.
  by rewrite ler_add2l.
rewrite (_ : z - a * w = (z - a * w') + a * (w' - w)); last by by_ring.
apply: le_trans (ler_norm_add _ _) _.
apply: (@le_trans _ _ (kappa * (`|a| * (1 + rho)) + `|a| * rho)).
  apply: ler_add; last by rewrite normrM ler_wpmul2l.
  by apply: le_trans ok _; rewrite !ler_wpmul2l.
by apply: le_of_eq; by_ring.
Qed.
End Product.

(* Sums of products. *)
Section Dot.
Variable u : C.
Hypothesis u_ge0 : 0 <= u.

Definition grown (n : nat) : C := (1 + u) ^+ n - 1.
Lemma grown_ge0 n : 0 <= grown n.
Proof. by rewrite subr_ge0 exprn_ege1 // ler_addl. Qed.

Lemma grown_mono n m : (n <= m)%N -> grown n <= grown m.
Proof. by move=> n_m; rewrite ler_add2r ler_weexpn2l // ler_addl. Qed.

(* k is the number of the terms in s. *)
Lemma accumulate_error terms : forall (k : nat) s s' mass z, (0 < k)%N -> accumulate (rounded u) s terms z ->
  `|s - s'| <= grown k * mass -> `|s'| <= mass ->
  `|z - (s' + \sum_(x <- terms) x)| <= grown (k + size terms) * (mass + \sum_(x <- terms) `|x|).
Proof.
elim: terms => [|x rest IH] k s s' mass z k_gt0 /=.
  by move=> -> ok _; rewrite !big_nil addn0 !addr0.
case=> p [t [p_ok t_ok rest_ok]] s_ok s'_le; rewrite !big_cons -addSnnS !addrA.
have mass_ge0 : 0 <= mass by exact: le_trans s'_le.
apply: IH rest_ok _ _ => //; last by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r.
have p_ok' : `|p - x| <= grown k * `|x|.
  apply: le_trans p_ok _; rewrite ler_wpmul2r //; apply: le_trans (grown_mono k_gt0).
  by rewrite /grown expr1 addrC addKr.
have sp : `|s + p - (s' + x)| <= grown k * (mass + `|x|).
  rewrite (_ : s + p - (s' + x) = (s - s') + (p - x)); last by by_ring.
  by rewrite mulrDr; apply: le_trans (ler_norm_add _ _) (ler_add s_ok p_ok').
have sp_le : `|s + p| <= (1 + u) ^+ k * (mass + `|x|).
  rewrite -[s + p](subrK (s' + x)); apply: le_trans (ler_norm_add _ _) _.
  rewrite -[(1 + u) ^+ k](subrK 1) mulrDl mul1r; apply: ler_add; first exact: sp.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r.
rewrite -[t](subrK (s + p)) -addrA; apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (ler_add t_ok sp) _; apply: le_trans (ler_add (ler_wpmul2l u_ge0 sp_le) (lexx _)) _.
by apply: le_of_eq; rewrite /grown; by_ring.
Qed.

Lemma dot_error terms z : sum_of_products (rounded u) terms z ->
  `|z - \sum_(x <- terms) x| <= grown (size terms) * \sum_(x <- terms) `|x|.
Proof.
case: terms => [|x rest] /=; first by move=> ->; rewrite !big_nil subrr normr0 mulr0.
case=> p p_ok rest_ok; rewrite !big_cons -add1n; apply: accumulate_error rest_ok _ _ => //.
by rewrite /grown expr1 [1 + u]addrC addrK.
Qed.

Lemma sum_enum d (F : 'I_d -> C) : \sum_(l <- enum 'I_d) F l = \sum_l F l.
Proof. by rewrite [LHS]big_enum; apply: eq_bigl => l; rewrite inE. Qed.

Lemma dot_sum_error d (F : 'I_d -> C) z : sum_of_products (rounded u) [seq F l | l <- enum 'I_d] z ->
  `|z - \sum_l F l| <= grown d * \sum_l `|F l|.
Proof.
move/dot_error; rewrite size_map -cardE card_ord.
have each (f : C -> C) : \sum_(t <- [seq F l | l <- enum 'I_d]) f t = \sum_l f (F l).
  by rewrite -sum_enum [LHS]big_map.
by rewrite (each id) (each (fun t => `|t|)).
Qed.

Lemma dot_pairs_error d (F G : 'I_d -> C) z :
  sum_of_products (rounded u) (flatten [seq [:: F l; G l] | l <- enum 'I_d]) z ->
  `|z - \sum_l (F l + G l)| <= grown (2 * d) * \sum_l (`|F l| + `|G l|).
Proof.
move/dot_error; have -> : size (flatten [seq [:: F l; G l] | l <- enum 'I_d]) = (2 * d)%N.
  rewrite -[d in (2 * d)%N]card_ord cardE; elim: (enum _) => //= l rest ->.
  by rewrite mulnS.
have two (f : C -> C) : \sum_(t <- flatten [seq [:: F l; G l] | l <- enum 'I_d]) f t
    = \sum_l (f (F l) + f (G l)).
  rewrite big_flatten big_map -sum_enum; apply: eq_bigr => l _.
  by rewrite !big_cons big_nil /= addr0.
by rewrite (two id) (two (fun t => `|t|)).
Qed.

(* The parts of a point. *)
Lemma parts_product_le a b c (d : C) : a \is Num.real -> b \is Num.real -> c \is Num.real ->
  d \is Num.real -> `|a * c| + `|b * d| <= `|a + 'i * b| * `|c + 'i * d|.
Proof.
move=> a_real b_real c_real d_real; apply: le_of_squares; rewrite ?addr_ge0 ?mulr_ge0 //.
rewrite exprMn !normC2_rect // !normrM -subr_ge0 -(real_normK a_real) -(real_normK b_real).
rewrite -(real_normK c_real) -(real_normK d_real).
rewrite (_ : _ - _ = (`|a| * `|d| - `|b| * `|c|) ^+ 2); last by by_ring.
by rewrite real_exprn_even_ge0 // rpredB // rpredM // normr_real.
Qed.

Lemma modulus_conj_form a b : a \is Num.real -> b \is Num.real -> `|a + 'i * b| = `|b + 'i * a|.
Proof.
move=> a_real b_real; apply/eqP; rewrite -(@eqr_expn2 _ 2) // !normC2_rect //.
by rewrite addrC.
Qed.

Lemma re_product_le x y : `|'Re x * 'Re y| + `|'Im x * 'Im y| <= `|x| * `|y|.
Proof. by rewrite [X in _ <= `|X| * _]Crect [X in _ <= _ * `|X|]Crect parts_product_le. Qed.

Lemma im_product_le x y : `|'Re x * 'Im y| + `|'Im x * 'Re y| <= `|x| * `|y|.
Proof.
rewrite [X in _ <= `|X| * _]Crect [X in _ <= _ * `|X|]Crect ['Re y + _ in X in _ <= X]addrC.
rewrite [X in _ <= _ * `|X|]addrC (modulus_conj_form (Creal_Re y)) //.
exact: parts_product_le.
Qed.

(* Real and imaginary part off by e each. *)
Lemma parts_within e f x y : 0 <= e -> 2%:R * e ^+ 2 <= f ^+ 2 -> 0 <= f ->
  `|'Re y - 'Re x| <= e -> `|'Im y - 'Im x| <= e -> `|y - x| <= f.
Proof.
move=> e_ge0 ef f_ge0 re im; apply: le_of_squares => //; apply: le_trans ef.
rewrite norm_parts ReB ImB mulr_natl mulr2n.
by apply: ler_add; rewrite ler_sqr ?qualifE.
Qed.

Section Point.
Variables (d : nat) (x s : 'I_d -> C).
Let mass := \sum_l `|x l| * `|s l|.

Lemma mass_ge0 : 0 <= mass.
Proof. by apply: sumr_ge0 => l _; rewrite mulr_ge0. Qed.

Lemma four_sums_error f z : 0 <= f -> 2%:R * grown d.+1 ^+ 2 <= f ^+ 2 ->
  point_by_four_sums (rounded u) x s z -> `|z - \sum_l x l * s l| <= f * mass.
Proof.
move=> f_ge0 f_ok [rr [ii [ri [ir [[/dot_sum_error rr_ok /dot_sum_error ii_ok
  /dot_sum_error ri_ok /dot_sum_error ir_ok] [re im]]]]]].
have last_sum (a b a' b' A B y : C) : `|a - a'| <= grown d * A -> `|b - b'| <= grown d * B ->
    `|a'| <= A -> `|b'| <= B -> rounded u (a + b) y -> `|y - (a' + b')| <= grown d.+1 * (A + B).
  move=> a_ok b_ok a'_le b'_le y_ok.
  have ab : `|a + b - (a' + b')| <= grown d * (A + B).
    rewrite (_ : a + b - (a' + b') = (a - a') + (b - b')); last by by_ring.
    by rewrite mulrDr; apply: le_trans (ler_norm_add _ _) (ler_add a_ok b_ok).
  have ab_le : `|a + b| <= (1 + u) ^+ d * (A + B).
    rewrite -[a + b](subrK (a' + b')); apply: le_trans (ler_norm_add _ _) _.
    rewrite -[(1 + u) ^+ d](subrK 1) mulrDl mul1r; apply: ler_add; first exact: ab.
    by apply: le_trans (ler_norm_add _ _) _; exact: ler_add.
  rewrite -[y](subrK (a + b)) -addrA; apply: le_trans (ler_norm_add _ _) _.
  apply: le_trans (ler_add y_ok ab) _.
  apply: le_trans (ler_add (ler_wpmul2l u_ge0 ab_le) (lexx _)) _.
  by apply: le_of_eq; rewrite /grown; by_ring.
have sum_le (F : 'I_d -> C) : `|\sum_l F l| <= \sum_l `|F l| by exact: ler_norm_sum.
have e_ge0 : 0 <= grown d.+1 * mass by rewrite mulr_ge0 ?grown_ge0 ?mass_ge0.
apply: (@parts_within (grown d.+1 * mass)); rewrite ?mulr_ge0 ?grown_ge0 ?mass_ge0 //.
- by rewrite exprMn mulrA [(f * _) ^+ 2]exprMn ler_wpmul2r // exprn_ge0 ?mass_ge0.
- rewrite raddf_sum /= (eq_bigr (fun l => 'Re (x l) * 'Re (s l) - 'Im (x l) * 'Im (s l))); last first.
    by move=> l _; rewrite ReM.
  rewrite sumrB; apply: le_trans (last_sum _ (- ii) _ _ _ _ _ rr_ok _ (sum_le _) _ re) _.
  + by rewrite -opprD normrN; exact: ii_ok.
  + by rewrite normrN; exact: sum_le.
  rewrite ler_wpmul2l ?grown_ge0 // -big_split /=; apply: ler_sum => l _; exact: re_product_le.
rewrite raddf_sum /= (eq_bigr (fun l => 'Re (x l) * 'Im (s l) + 'Im (x l) * 'Re (s l))); last first.
  by move=> l _; rewrite ImM ['Im (x l) * _]mulrC.
rewrite big_split /=; apply: le_trans (last_sum _ _ _ _ _ _ _ ri_ok ir_ok (sum_le _) (sum_le _) im) _.
rewrite ler_wpmul2l ?grown_ge0 // -big_split /=; apply: ler_sum => l _; exact: im_product_le.
Qed.

Lemma two_sums_error f z : 0 <= f -> 2%:R * grown (2 * d) ^+ 2 <= f ^+ 2 ->
  point_by_two_sums (rounded u) x s z -> `|z - \sum_l x l * s l| <= f * mass.
Proof.
move=> f_ge0 f_ok [/dot_pairs_error re /dot_pairs_error im].
have e_ge0 : 0 <= grown (2 * d) * mass by rewrite mulr_ge0 ?grown_ge0 ?mass_ge0.
apply: (@parts_within (grown (2 * d) * mass)); rewrite ?mulr_ge0 ?grown_ge0 ?mass_ge0 //.
- by rewrite exprMn mulrA [(f * _) ^+ 2]exprMn ler_wpmul2r // exprn_ge0 ?mass_ge0.
- rewrite raddf_sum /= (eq_bigr (fun l => 'Re (x l) * 'Re (s l) - 'Im (x l) * 'Im (s l))); last first.
    by move=> l _; rewrite ReM.
  apply: le_trans re _; rewrite ler_wpmul2l ?grown_ge0 //; apply: ler_sum => l _.
  by rewrite normrN; exact: re_product_le.
rewrite raddf_sum /= (eq_bigr (fun l => 'Im (x l) * 'Re (s l) + 'Re (x l) * 'Im (s l))); last first.
  by move=> l _; rewrite ImM addrC ['Im (x l) * _]mulrC.
apply: le_trans im _; rewrite ler_wpmul2l ?grown_ge0 //; apply: ler_sum => l _.
by rewrite addrC im_product_le.
Qed.
End Point.
End Dot.

(* Vectors, of n numbers. *)
Definition squares (n : nat) (x : nat -> C) : C := \sum_(j < n) `|x j| ^+ 2.

Lemma squares_ge0 n (x : nat -> C) : 0 <= squares n x.
Proof. by apply: sumr_ge0 => j _; rewrite exprn_ge0. Qed.

Lemma eq_squares n (x y : nat -> C) : (forall j, (j < n)%N -> x j = y j) -> squares n x = squares n y.
Proof. by move=> e; apply: eq_bigr => j _; rewrite e. Qed.

Lemma le_squares n (x y : nat -> C) : (forall j, (j < n)%N -> `|x j| <= `|y j|) ->
  squares n x <= squares n y.
Proof. by move=> le; apply: ler_sum => j _; rewrite ler_sqr ?qualifE // le. Qed.

Lemma squares_scale n c (x : nat -> C) : squares n (fun j => c * x j) = `|c| ^+ 2 * squares n x.
Proof. by rewrite /squares mulr_sumr; apply: eq_bigr => j _; rewrite normrM exprMn. Qed.

(* Cauchy and Schwarz, and Minkowski. *)
Lemma products_le n (x y : nat -> C) alpha beta k : 0 <= alpha -> 0 <= beta -> 0 <= k ->
  squares n x <= alpha ^+ 2 * k -> squares n y <= beta ^+ 2 * k ->
  \sum_(j < n) `|x j| * `|y j| <= alpha * beta * k.
Proof.
move=> alpha_ge0 beta_ge0 k_ge0 x_le y_le.
have zero_sum (v w : nat -> C) : squares n v <= 0 -> \sum_(j < n) `|v j| * `|w j| = 0.
  move=> v_le; rewrite big1 // => j _.
  have /eqP : squares n v = 0 by apply/eqP; rewrite eq_le v_le squares_ge0.
  rewrite /squares psumr_eq0 => [/allP/(_ j)|i _]; last exact: exprn_ge0.
  by rewrite mem_index_enum expf_eq0 /= => /(_ isT)/eqP ->; rewrite mul0r.
have [e|alpha_neq0] := eqVneq alpha 0.
  by rewrite zero_sum ?e ?mul0r // (le_trans x_le) // e expr0n mul0r.
have [e'|beta_neq0] := eqVneq beta 0.
  rewrite (eq_bigr (fun j : 'I_n => `|y j| * `|x j|)) => [|j _]; last by rewrite mulrC.
  by rewrite zero_sum ?e' ?mulr0 ?mul0r // (le_trans y_le) // e' expr0n mul0r.
have ab_gt0 : 0 < alpha * beta by rewrite lt_def mulf_neq0 // mulr_ge0.
rewrite -(ler_pmul2l (_ : 0 < alpha * beta *+ 2)) ?pmulrn_lgt0 //.
apply: (@le_trans _ _ (beta ^+ 2 * squares n x + alpha ^+ 2 * squares n y)).
  rewrite /squares !mulr_sumr -big_split /=; apply: ler_sum => j _.
  rewrite -subr_ge0.
  rewrite (_ : _ - _ = (beta * `|x j| - alpha * `|y j|) ^+ 2); last by by_ring.
  by rewrite real_exprn_even_ge0 // rpredB // rpredM // ?normr_real // ger0_real.
apply: (@le_trans _ _ (beta ^+ 2 * (alpha ^+ 2 * k) + alpha ^+ 2 * (beta ^+ 2 * k))).
  by apply: ler_add; rewrite ler_wpmul2l ?exprn_ge0.
by apply: le_of_eq; by_ring.
Qed.

Lemma squares_sum n (x y : nat -> C) alpha beta k : 0 <= alpha -> 0 <= beta -> 0 <= k ->
  squares n x <= alpha ^+ 2 * k -> squares n y <= beta ^+ 2 * k ->
  squares n (fun j => x j + y j) <= (alpha + beta) ^+ 2 * k.
Proof.
move=> alpha_ge0 beta_ge0 k_ge0 x_le y_le.
apply: (@le_trans _ _ (squares n x + squares n y + 2%:R * \sum_(j < n) `|x j| * `|y j|)).
  rewrite /squares mulr_sumr -!big_split /=; apply: ler_sum => j _.
  apply: (@le_trans _ _ ((`|x j| + `|y j|) ^+ 2)).
    by rewrite ler_sqr ?qualifE ?addr_ge0 // ler_norm_add.
  by apply: le_of_eq; by_ring.
apply: (@le_trans _ _ (alpha ^+ 2 * k + beta ^+ 2 * k + 2%:R * (alpha * beta * k))).
  by rewrite !ler_add // ler_wpmul2l // products_le.
by apply: le_of_eq; by_ring.
Qed.

(* A step M that is linear and multiplies squares by c: errors multiply. *)
Lemma step_error n (M : (nat -> C) -> nat -> C) c e f k (x x' y : nat -> C) :
  0 <= c -> 0 <= e -> 0 <= f -> 0 <= k ->
  (forall (a b : nat -> C) j, (j < n)%N -> M (fun i => a i - b i) j = M a j - M b j) ->
  (forall a : nat -> C, squares n (M a) = c * squares n a) ->
  squares n (fun j => x j - x' j) <= e ^+ 2 * k -> squares n x' <= k ->
  squares n (fun j => y j - M x j) <= f ^+ 2 * squares n (M x) ->
  squares n (fun j => y j - M x' j) <= ((1 + e) * (1 + f) - 1) ^+ 2 * (c * k).
Proof.
move=> c_ge0 e_ge0 f_ge0 k_ge0 additive isometry x_ok x'_le y_ok.
have x_le : squares n x <= (e + 1) ^+ 2 * k.
  rewrite (@eq_squares _ x (fun j => (x j - x' j) + x' j)) => [|j _]; last by rewrite subrK.
  by apply: squares_sum => //; rewrite expr1n mul1r.
rewrite (@eq_squares _ _ (fun j => (y j - M x j) + (M x j - M x' j))) => [|j _]; last first.
  by rewrite addrA subrK.
rewrite (_ : (1 + e) * (1 + f) - 1 = f * (e + 1) + e); last by by_ring.
apply: squares_sum; rewrite ?mulr_ge0 ?addr_ge0 //.
  apply: le_trans y_ok _; rewrite isometry exprMn.
  rewrite (_ : f ^+ 2 * (e + 1) ^+ 2 * (c * k) = f ^+ 2 * (c * ((e + 1) ^+ 2 * k))); last first.
    by by_ring.
  by rewrite !ler_wpmul2l // exprn_ge0.
rewrite -(eq_squares (fun j lt => additive x x' j lt)) isometry mulrCA.
by rewrite ler_wpmul2l.
Qed.

Lemma near_squares n (x y : nat -> C) f : 0 <= f ->
  (forall j, (j < n)%N -> `|y j - x j| <= f * `|x j|) ->
  squares n (fun j => y j - x j) <= f ^+ 2 * squares n x.
Proof.
move=> f_ge0 near; rewrite -[f in f ^+ 2]ger0_norm // -squares_scale; apply: le_squares => j lt.
by rewrite normrM ger0_norm // near.
Qed.

(* Of 4 m numbers. *)
Lemma sum_entries n m (f : nat -> C) : (0 < m)%N ->
  \sum_(k < n * m) f k = \sum_(i < n) \sum_(j < m) f (i * m + j)%N.
Proof.
move=> m_gt0; rewrite -(big_mkord xpredT f) -(big_mkord xpredT (fun i => \sum_(j < m) f (i * m + j)%N)).
rewrite (eq_big_nat _ _ (F2 := fun k => f (k %/ m * m + k %% m)%N)) => [|k _]; last first.
  by rewrite -divn_eq.
rewrite (@sum_divmod _ _ _ n m (fun i j => f (i * m + j)%N)) //.
by apply: eq_big_nat => i _; rewrite big_mkord.
Qed.

Lemma squares_blocks m (x : nat -> C) : (0 < m)%N ->
  squares (4 * m) x = \sum_(q < 4) squares m (quarter m q x).
Proof. by move=> m_gt0; rewrite /squares (@sum_entries 4 m (fun k => `|x k| ^+ 2)). Qed.

Lemma squares_entries m (x : nat -> C) : (0 < m)%N ->
  squares (4 * m) x = \sum_(j < m) squares 4 (entry m j x).
Proof.
move=> m_gt0; rewrite /squares (@sum_entries 4 m (fun k => `|x k| ^+ 2)) // exchange_big.
by [].
Qed.

End Proofs.
