(* Finite probability, as counting.

   A probability space is a finite type with a weight for each of its elements. Every sum is finite
   and every number is rational, so a statement on probabilities is a statement on cardinals. *)
From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The weights mu are a probability distribution on T. *)
Definition distribution (T : finType) (mu : T -> rat) : Prop :=
  (forall x, 0 <= mu x) /\ \sum_x mu x = 1.

(* The probability of the event E when x is drawn from mu. *)
Definition Pr (T : finType) (mu : T -> rat) (E : pred T) : rat := \sum_(x | E x) mu x.

(* Every element of T is equally likely. *)
Definition uniform (T : finType) : T -> rat := fun _ => #|T|%:R^-1.

(* A pair whose components are drawn independently, the first from mu and the second from nu. *)
Definition independent (A B : finType) (mu : A -> rat) (nu : B -> rat) : A * B -> rat :=
  fun z => mu z.1 * nu z.2.

Section Theory.

Lemma eq_Pr (T : finType) (mu : T -> rat) (E E' : pred T) : E =1 E' -> Pr mu E = Pr mu E'.
Proof. by move=> eqE; apply: eq_bigl. Qed.

Lemma Pr_never (T : finType) (mu : T -> rat) (E : pred T) :
  (forall x, E x = false) -> Pr mu E = 0.
Proof. by move=> never; rewrite /Pr big_pred0. Qed.

(* An event under the uniform distribution has the share of its elements. *)
Lemma Pr_uniform (T : finType) (E : pred T) : Pr (@uniform T) E = #|E|%:R / #|T|%:R.
Proof. by rewrite /Pr /uniform (eq_bigl (fun x => x \in E)) // sumr_const -[LHS]mulr_natl. Qed.

(* Summing over the second component first. *)
Lemma Pr_independent (A B : finType) (mu : A -> rat) (nu : B -> rat) (J : pred (A * B)) :
  Pr (independent mu nu) J = \sum_a mu a * Pr nu (fun x => J (a, x)).
Proof.
rewrite /Pr (eq_bigl (fun z => xpredT z.1 && J (z.1, z.2))); last by case.
rewrite -(pair_big_dep xpredT (fun a x => J (a, x)) (fun a x => mu a * nu x)) /=.
by apply: eq_bigr => a _; rewrite big_distrr.
Qed.

Lemma Pr_independent_prod (A B : finType) (mu : A -> rat) (nu : B -> rat) (E : pred A)
    (D : pred B) :
  Pr (independent mu nu) (fun z => E z.1 && D z.2) = Pr mu E * Pr nu D.
Proof.
rewrite Pr_independent {2}/Pr mulr_suml [RHS]big_mkcond /=; apply: eq_bigr => a _.
by case: (E a); rewrite //= /Pr big_pred0_eq mulr0.
Qed.

Lemma Pr_total (T : finType) (mu : T -> rat) : distribution mu -> Pr mu xpredT = 1.
Proof. by case. Qed.

Lemma uniform_distribution (T : finType) : (0 < #|T|)%N -> distribution (@uniform T).
Proof.
move=> T_gt0; split=> [x|]; first by rewrite invr_ge0 ler0n.
by rewrite /uniform sumr_const -[LHS]mulr_natl mulfV // pnatr_eq0 -lt0n.
Qed.

(* If the second component passes through a bijection that the first may choose, the joint law of
   the two does not change: the image is uniform and independent of the first. *)
Lemma one_time_pad (A R V : finType) (mu : A -> rat) (g : A -> R -> V) (J : pred (A * V)) :
  (forall a, injective (g a)) -> #|R| = #|V| ->
  Pr (independent mu (@uniform R)) (fun z => J (z.1, g z.1 z.2))
    = Pr (independent mu (@uniform V)) J.
Proof.
move=> g_inj cardRV; rewrite !Pr_independent; apply: eq_bigr => a _; congr (_ * _).
have g_bij : bijective (g a) by apply: inj_card_bij => //; rewrite cardRV.
rewrite /Pr /uniform cardRV [RHS](reindex (g a)) //=.
exact: onW_bij.
Qed.

(* A bound on every conditional probability is a bound on the whole. *)
Lemma Pr_independent_le (A B : finType) (mu : A -> rat) (nu : B -> rat) (J : pred (A * B)) c :
  distribution mu -> (forall a, Pr nu (fun x => J (a, x)) <= c) ->
  Pr (independent mu nu) J <= c.
Proof.
case=> mu_ge0 mu_sum le_c; rewrite Pr_independent -[c]mul1r -mu_sum mulr_suml.
by apply: ler_sum => a _; apply: ler_wpmul2l.
Qed.

End Theory.
