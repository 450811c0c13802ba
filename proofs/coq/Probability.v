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

End Theory.

(* ------------------------------------------------------------------------ random computations *)
(* A computation that draws, one after the other, from finite types, uniformly and independently of
   all that was drawn before. What is drawn next may depend on that. *)
Inductive random (A : Type) : Type :=
  | Known of A
  | Draw (X : finType) of (X -> random A).

(* The probability that its result is in E. *)
Fixpoint chance (A : Type) (E : A -> bool) (c : random A) : rat :=
  match c with
  | Known a => (E a)%:R
  | Draw X next => \sum_(x : X) uniform x * chance E (next x)
  end.

(* One computation after the other. *)
Fixpoint bind (A B : Type) (c : random A) (f : A -> random B) : random B :=
  match c with
  | Known a => f a
  | Draw X next => Draw (fun x => bind (next x) f)
  end.

(* Its result has the property P, whatever is drawn. *)
Fixpoint surely (A : Type) (P : A -> Prop) (c : random A) : Prop :=
  match c with
  | Known a => P a
  | Draw X next => forall x, surely P (next x)
  end.

(* First w is drawn from mu, then c w computes; J looks at w and at the result. *)
Definition chance_over (T : finType) (mu : T -> rat) (A : Type) (c : T -> random A)
    (J : T * A -> bool) : rat :=
  \sum_w mu w * chance (fun a => J (w, a)) (c w).

Section Random.
Variable A : Type.
Implicit Types (E : A -> bool) (c : random A).

Lemma uniform_ge0 (T : finType) (x : T) : 0 <= uniform x.
Proof. by rewrite invr_ge0 ler0n. Qed.

Lemma uniform_sum (T : finType) : \sum_(x : T) uniform x <= 1.
Proof.
rewrite /uniform sumr_const -[X in X <= _]mulr_natl; case: (posnP #|T|) => [->|T_gt0].
  by rewrite mul0r ler01.
by rewrite mulfV // pnatr_eq0 -lt0n.
Qed.

Lemma chance_draw E (X : finType) (next : X -> random A) :
  chance E (Draw next) = \sum_x uniform x * chance E (next x).
Proof. by []. Qed.

Lemma chance_ge0 E c : 0 <= chance E c.
Proof.
elim: c => [a|X next IH] /=; first exact: ler0n.
by apply: sumr_ge0 => x _; rewrite mulr_ge0 ?uniform_ge0.
Qed.

Lemma chance_le1 E c : chance E c <= 1.
Proof.
elim: c => [a|X next IH] /=; first by case: (E a); rewrite ?ler01.
apply: le_trans (uniform_sum X); apply: ler_sum => x _.
by rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?uniform_ge0.
Qed.

Lemma eq_chance E E' c : E =1 E' -> chance E c = chance E' c.
Proof.
by move=> eqE; elim: c => [a|X next IH] /=; rewrite ?eqE //; apply: eq_bigr => x _; rewrite IH.
Qed.

Lemma chance_never c : chance xpred0 c = 0.
Proof. by elim: c => [a|X next IH] //=; apply: big1 => x _; rewrite IH mulr0. Qed.

Lemma surely_never (P : A -> Prop) E c :
  surely P c -> (forall a, P a -> E a = false) -> chance E c = 0.
Proof.
move=> sure never; elim: c sure => [a|X next IH] /= sure; first by rewrite never.
by apply: big1 => x _; rewrite IH ?mulr0.
Qed.

Lemma sub_surely (P P' : A -> Prop) c : surely P c -> (forall a, P a -> P' a) -> surely P' c.
Proof.
by move=> sure sub; elim: c sure => [a|X next IH] /= sure; [apply: sub|move=> x; apply: IH].
Qed.

(* What is the same whatever is drawn has that value. *)
Lemma average_same (X : finType) (f : X -> rat) (a : rat) :
  (0 < #|X|)%N -> (forall x, f x = a) -> \sum_x uniform x * f x = a.
Proof.
move=> X_gt0 same; have [_ total] := uniform_distribution X_gt0.
by rewrite -[RHS]mul1r -total mulr_suml; apply: eq_bigr => x _; rewrite same.
Qed.

(* Averages are as close as what is averaged. *)
Lemma average_close (X : finType) (mu : X -> rat) (f g : X -> rat) (c : rat) :
  distribution mu -> (forall x, `|f x - g x| <= c) ->
  `|\sum_x mu x * f x - \sum_x mu x * g x| <= c.
Proof.
case=> mu_ge0 total close; rewrite -sumrB -[c]mul1r -total mulr_suml.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => x _.
by rewrite -mulrBr normrM ger0_norm // ler_wpmul2l.
Qed.

End Random.
